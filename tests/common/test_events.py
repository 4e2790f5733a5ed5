"""Events: listeners hear what happens in a step and in a schedule, and may be added one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.common.events import (
    ROLLED_BACK,
    AbandonedError,
    Committed,
    Event,
    Failed,
    PhaseStarted,
    Progress,
    Rejected,
)
from kgsync.common.listener import AnyListener, Events
from kgsync.errors import KgsyncError, LargeRemovalError, VersionError
from tests.worlds import GRAPHS, fill, quick_settings


class CommitCounter:
    """A listener that counts committed versions: all that it takes to add one."""

    def __init__(self) -> None:
        self.versions: list[int] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Committed):
            self.versions.append(event.version)


def sync_of(store: ox.Store, state: Path, listener: AnyListener, max_removed: float) -> KGSync:
    settings = quick_settings()
    settings = replace(settings, source=replace(settings.source, max_removed=max_removed))
    return KGSync(store, GRAPHS, state=state, settings=settings, listener=listener)


def test_a_function_hears_every_event_of_a_step(tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", heard.append, 1.0)
    report = sync.step()
    phases = [event.phase for event in heard if isinstance(event, PhaseStarted)]
    # The first time on a machine, it also says that kernels are compiled.
    assert [phase for phase in phases if not phase.startswith("compiling")] == [
        "fetch",
        "compile",
        "train",
        "evaluate",
        "write",
        "stage",
        "commit",
        "publish",
    ]
    assert any(isinstance(event, Progress) for event in heard)
    assert heard[-1] == Committed(
        1,
        GRAPHS.format(version="1"),
        "trained",
        sum(report.seconds.values()),
    )
    heard.clear()
    assert not sync.step().changed
    assert not any(isinstance(event, Committed) for event in heard)


def test_several_listeners_of_both_kinds_hear_a_sync(tmp_path: Path) -> None:
    class Plain:
        phases: list[str] = []  # noqa: RUF012

        def phase(self, name: str) -> None:
            self.phases.append(name)

        def progress(self, name: str, done: int, total: int) -> None: ...

    counter, plain = CommitCounter(), Plain()
    sync = sync_of(fill(ox.Store()), tmp_path / "state", Events(counter, plain), 1.0)
    sync.catch_up()
    assert counter.versions == [1, 2, 3, 4]
    assert plain.phases.count("commit") == 4


def test_what_a_guard_refuses_is_told_as_rejected_before_any_training(tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store()), tmp_path / "state", heard.append, 0.05)
    sync.step()
    heard.clear()
    with pytest.raises(LargeRemovalError) as refused:
        sync.step()
    assert heard == [PhaseStarted("fetch"), Rejected(refused.value)]
    assert sync.status().version == 1


def test_an_error_is_told_as_failed(tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(ox.Store(), tmp_path / "state", heard.append, 1.0)
    with pytest.raises(VersionError) as failed:
        sync.step()
    assert heard[-1] == Failed(failed.value)


@pytest.mark.parametrize("kind", [Committed, Rejected, Failed])
def test_a_listener_that_fails_hides_no_error_and_no_version(
    tmp_path: Path, kind: type[Event], caplog: pytest.LogCaptureFixture
) -> None:
    def failing(event: Event) -> None:
        if isinstance(event, kind):
            raise OSError("webhook down")

    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state", failing, 0.05)
    assert sync.step().version == 1
    with pytest.raises(LargeRemovalError):
        sync.step()
    with pytest.raises(VersionError):
        sync_of(ox.Store(), tmp_path / "other", failing, 1.0).step()
    assert sync.status().pause is not None  # `kgsync accept` can take it
    assert f"a listener failed on {kind.__name__}" in caplog.text


def test_any_error_is_told_but_not_that_a_listener_ended_the_step(tmp_path: Path) -> None:
    heard: list[Event] = []

    def ending(error: Exception) -> AnyListener:
        def hear(event: Event) -> None:
            heard.append(event)
            if isinstance(event, PhaseStarted) and event.phase == "train":
                raise error

        return hear

    store = fill(ox.Store(), ["1"])
    for error, told in ((MemoryError(), 1), (AbandonedError(), 0)):
        heard.clear()
        with pytest.raises(type(error)):
            sync_of(store, tmp_path / "state", ending(error), 1.0).step()
        assert sum(isinstance(event, Failed) for event in heard) == told


def failing_at(phase: str, heard: list[Event]) -> AnyListener:
    def hear(event: Event) -> None:
        heard.append(event)
        if event == PhaseStarted(phase):
            raise RuntimeError("a broken listener")

    return hear


@pytest.mark.parametrize("action", ["step", "rebuild", "adopt"])
@pytest.mark.parametrize("what", ["listener", "publishing", "notes"])
def test_whatever_fails_after_the_commit_is_a_warning_and_the_commit_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, what: str
) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", heard.append, 1.0)
    if action == "adopt":
        other = sync_of(fill(ox.Store(), ["1"]), tmp_path / "other", heard.append, 1.0)
        vectors = Path(str(other.step().files)) / "vectors.parquet"
    heard.clear()

    def fail(*_: object) -> None:
        raise OSError("cannot be done")

    with monkeypatch.context() as patch:
        if what == "listener":
            sync.listener = failing_at("publish", heard)
        elif what == "publishing":
            patch.setattr("kgsync.publish.target.PublishTarget._shown", fail)
        else:
            patch.setattr("kgsync.service.pausing.Pause.end", fail)
        report = sync.adopt(vectors) if action == "adopt" else getattr(sync, action)()
    assert report.version == sync.status().version == 1
    (warning,) = report.warnings
    assert "version 1 is committed, but" in warning
    (told,) = (event for event in heard if isinstance(event, Committed))
    assert (told.version, told.action, told.warnings) == (1, report.action, report.warnings)
    assert heard[-1] == told
    assert not any(isinstance(event, Failed) for event in heard)
    assert not sync_of(sync._target, tmp_path / "state", Events(), 1.0).step().changed


def test_a_rollback_is_told_as_a_commit_even_if_it_is_not_shown(tmp_path: Path) -> None:
    heard: list[Event] = []
    sync = sync_of(fill(ox.Store()), tmp_path / "state", heard.append, 1.0)
    sync.step()
    sync.step()
    sync.rollback(1)
    told = heard[-1]
    assert isinstance(told, Committed)
    assert (told.version, told.graph_version) == (1, GRAPHS.format(version="1"))
    assert told.action == ROLLED_BACK
    sync.listener = failing_at("publish", heard)
    with pytest.raises(KgsyncError, match="version 2 is current in the state, but"):
        sync.rollback(2)
    told = heard[-1]
    assert isinstance(told, Committed)
    assert (told.version, told.action, len(told.warnings)) == (2, ROLLED_BACK, 1)
