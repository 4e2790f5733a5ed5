"""What every guard does. A new one needs a file `guard_<name>.py` beside this one."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

import kgsync.service.guards
from kgsync import KGSync, Settings
from kgsync.cli.app import app
from kgsync.common.events import Event, Failed, PhaseStarted, Rejected
from kgsync.common.family import makers
from kgsync.errors import RejectedError
from tests.adapters.test_files import write
from tests.service.more_guards.late import STRICT
from tests.source.test_rewritten import EXTRA, history
from tests.worlds import GRAPHS, disk_store, fill, quads, quick_settings, ring

HERE = Path(__file__).parent
MORE = str(HERE / "more_guards")
PACKAGES = {
    "kgsync.service.guards": kgsync.service.guards.__path__,
    "tests.service.more_guards": [MORE],
}
GUARDS = [name for place in PACKAGES.items() for name in makers(*place, "guard")]
BAD = ["1", "10"]
"""Two versions; the second is bad in every way, so that every guard has a reason to reject it.

Entities and a relation are gone with many edges, and there are new ones.
"""


@pytest.fixture(autouse=True)
def more_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files of a folder were in that of the guards: all that it takes to add one."""
    monkeypatch.setattr(kgsync.service.guards, "__path__", [*kgsync.service.guards.__path__, MORE])
    for name in (file.name for file in iter_modules([MORE])):
        full = f"kgsync.service.guards.{name}"
        monkeypatch.setitem(sys.modules, full, import_module(f"tests.service.more_guards.{name}"))


def every_limit(settings: Settings, *strict: str) -> Settings:
    """Some guards that reject the second version, among others that allow it."""
    for name in GUARDS:
        case = import_module(f"tests.service.guard_{name}")
        settings = case.limited(settings, strictly=name in strict)
    return settings


def sync_of(store: ox.Store, state: Path, heard: list[Event], *strict: str) -> KGSync:
    """A sync whose first version is committed."""
    settings = every_limit(quick_settings(), *strict)
    sync = KGSync(store, GRAPHS, state=state, settings=settings, listener=heard.append)
    assert sync.step().version == 1  # the first version is compared with nothing
    heard.clear()
    return sync


def rejected(sync: KGSync, heard: list[Event], **options: bool) -> str:
    """A step that a guard rejects; returns why."""
    heard.clear()
    with pytest.raises(RejectedError) as refused:
        sync.step(**options)
    assert refused.value.exit_code == 6
    assert Rejected(refused.value) in heard
    assert not any(isinstance(event, Failed) for event in heard)
    status = sync.status()
    assert status.version == 1
    assert status.pause is not None
    assert str(refused.value) in str(status.pause)
    return str(refused.value)


def is_trained(heard: list[Event]) -> bool:
    return PhaseStarted("update") in heard


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_rejects_a_version_until_its_limit_is_changed(name: str, tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), BAD), tmp_path, heard, name)
    rejected(sync, heard)
    sync.settings = every_limit(sync.settings)
    assert sync.step().version == 2
    assert sync.status().pause is None


def test_no_case_is_missing_and_none_is_left_of_a_guard_that_is_gone() -> None:
    assert sorted(path.stem.removeprefix("guard_") for path in HERE.glob("guard_*.py")) == sorted(
        GUARDS
    )


def test_a_plan_tells_that_the_next_step_would_be_rejected(tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), BAD), tmp_path, heard, "removal")
    plan = sync.plan()
    assert sync.status().pause is None
    assert plan.rejected == rejected(sync, heard)
    assert f"the next step would be rejected: {plan.rejected}" in " ".join(str(plan).split())
    sync.accept()
    assert not sync.plan().rejected


@pytest.mark.parametrize("name", GUARDS)
def test_what_a_guard_rejects_is_not_trained_again_until_it_is_accepted(
    name: str, tmp_path: Path
) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), BAD), tmp_path, heard, name)
    why = rejected(sync, heard)
    since = sync.status().pause
    again = KGSync(
        sync._target, GRAPHS, state=tmp_path, settings=sync.settings, listener=heard.append
    )
    for _ in range(2):
        assert rejected(again, heard) == why
        assert not is_trained(heard)
    assert sync.status().pause == since
    sync.accept()
    assert "accepted" in str(sync.status().pause)
    assert again.step().version == 2
    assert again.status().pause is None


def test_a_changed_graph_is_trained_although_the_last_one_was_rejected(tmp_path: Path) -> None:
    heard: list[Event] = []
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path, heard, "late")
    rejected(sync, heard)
    assert is_trained(heard)
    store.extend(quads("2", ring(4, start=100)))
    rejected(sync, heard)
    assert is_trained(heard)
    sync.accept()
    store.extend(quads("2", ring(4, start=200)))
    rejected(sync, heard)  # what was accepted is something else


def test_a_version_that_several_guards_reject_is_accepted_from_each_of_them(
    tmp_path: Path,
) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), BAD), tmp_path, heard, *GUARDS)
    reasons = {rejected(sync, heard)}
    for _ in GUARDS[1:]:
        sync.accept()
        reasons.add(rejected(sync, heard))
    assert len(reasons) == len(GUARDS)
    sync.accept()
    assert sync.step().version == 2


def test_allowing_a_large_removal_allows_nothing_else(tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), BAD), tmp_path, heard, "removal", "late")
    assert "not good enough" in rejected(sync, heard, allow_large_removal=True)
    sync.accept()
    assert sync.step().version == 2


def test_an_accepted_removal_does_not_grow_with_the_rejections_of_other_guards(
    tmp_path: Path,
) -> None:
    heard: list[Event] = []
    store, edges = fill(ox.Store(), ["1"]), ring(40)
    store.extend(quads("2", edges[40:]))
    sync = sync_of(store, tmp_path, heard, "removal", "late")
    source = replace(sync.settings.source, quiet_period="0s")
    sync.settings = replace(sync.settings, source=source)
    assert "would remove 33%" in rejected(sync, heard)
    sync.accept()
    for grown in (0, 3):  # by less than a tenth
        for quad in quads("2", edges[40 : 40 + grown]):
            store.remove(quad)
        assert "not good enough" in rejected(sync, heard)
    for quad in quads("2", edges[43:46]):
        store.remove(quad)
    assert "would remove 38%" in rejected(sync, heard)


def test_what_a_guard_rejects_does_not_hide_which_files_were_committed(tmp_path: Path) -> None:
    sync = history(tmp_path)
    write(tmp_path / "kg/changes/0003.added.nt", [EXTRA])
    sync.settings = every_limit(sync.settings, "late")
    with pytest.raises(RejectedError, match="not good enough"):
        sync.step()
    assert sync.plan().way == "changes"


def test_any_other_error_of_a_guard_is_a_failure_and_no_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), BAD), tmp_path, heard)
    monkeypatch.setattr("tests.service.more_guards.late.LateGuard.check", fail)
    with pytest.raises(ValueError, match="a bug"):
        sync.step()
    assert isinstance(heard[-1], Failed)
    assert sync.status().pause is None


def test_the_commands_show_and_accept_what_is_rejected_after_training(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2"])
    config = tmp_path / "kgsync.toml"
    config.write_text(
        f'[source]\nstore = "{store}"\ngraphs = "{GRAPHS}"\nmax_removed = 1.0\n'
        f'[schedule]\nmax_wait = "{STRICT}"\n'
        "[model]\ndimension = 8\n[training]\nepochs = 5\nbatches = 4\n"
        "[update]\nchange_epochs = 1\ngeneral_epochs = 3\n"
    )

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "-c", str(config)])
        assert done.exit_code == 0 or isinstance(done.exception, RejectedError), done.output
        return done.stdout

    run("step", "--all")
    assert "paused since" in run("status")
    assert "not good enough" in run("status")
    assert "`kgsync step` applies it" in run("accept")
    shown = run("status")
    assert re.search(r"^accepted on \S+; the next step applies it$", shown, re.MULTILINE)
    assert "not good enough" not in shown
    run("step")
    assert "version 2 of" in run("status")
    assert "paused" not in run("status")
