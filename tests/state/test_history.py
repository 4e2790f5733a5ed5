"""The log of what was committed: a step does not read all of the history, and nothing breaks it."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.config import StateSettings
from kgsync.graph.versions import natural_key
from kgsync.publish.metadata import graph as metadata
from kgsync.state import version_folder
from tests.processes import python
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, fill, quads, quick_settings, ring


def sync_of(store: object, state: Path, keep: int = 3) -> KGSync:
    settings = replace(quick_settings(), state=StateSettings(keep=keep))
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings)


def test_a_step_reads_as_many_manifests_after_many_versions_as_after_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ox.Store()
    sync = sync_of(store, tmp_path / "state")
    sync.settings = replace(
        sync.settings,
        training=replace(sync.settings.training, epochs=1),
        update=replace(sync.settings.update, change_epochs=1, general_epochs=1),
    )
    work: list[str] = []

    def counted(module: Any, name: str) -> None:
        real = getattr(module, name)

        def counting(*arguments: Any, **named: Any) -> Any:
            work.append(name)
            return real(*arguments, **named)

        monkeypatch.setattr(module, name, counting)

    counted(version_folder, "read_json")
    counted(metadata.MetadataGraph, "_some")
    done = {}
    for number in range(1, 31):
        store.extend(quads(f"{number}", [*ring(8), (f"e{number % 8}", "likes", "e0")]))
        for kind in ("step", "poll"):
            work.clear()
            assert sync.step().changed == (kind == "step")
            done[kind, number] = sorted(work)
    for kind in ("step", "poll"):
        assert done[kind, 30] == done[kind, 6]


@pytest.mark.parametrize(
    "moment",
    thinned(["before the line", "in the line", "before the files are noted"], "in the line".__eq__),
)
def test_a_kill_leaves_a_log_that_the_next_step_completes(tmp_path: Path, moment: str) -> None:
    disk_store(tmp_path / "kg")
    sync_of(tmp_path / "kg", tmp_path / "state", keep=1).step()
    change = {
        "before the line": "History.save = die",
        "in the line": (
            "real = History._append\n"
            "def half(self, records):\n"
            "    with self._path.open('ab') as file: file.write(b'{\"version\": 2, \"cre')\n"
            "    die()\n"
            "History._append = half"
        ),
        "before the files are noted": "History.drop = die",
    }[moment]
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from kgsync.state.history import History\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "from tests.state.test_history import sync_of\n"
        "sync = sync_of(Path(sys.argv[1]) / 'kg', Path(sys.argv[1]) / 'state', keep=1)\n"
        "commit = sync.state.commit\n"
        "def killing(number):\n    globals().update(History=History)\n"
        + "".join(f"    {line}\n" for line in change.splitlines())
        + "    commit(number)\n"
        "sync.state.commit = killing\nsync.step()\n"
    )
    assert python(code, str(tmp_path)) == -signal.SIGKILL
    survivor = sync_of(tmp_path / "kg", tmp_path / "state", keep=1)
    assert survivor.status().version == 2
    assert [report.version for report in survivor.history()] == [1, 2]
    assert survivor.step().version == 3
    log = sync_of(tmp_path / "kg", tmp_path / "state").state.history
    assert sorted(log.entries) == [1, 2, 3]
    assert log.with_files == {3}
    assert (tmp_path / "state" / "history.jsonl").read_text().count("\n") >= 4
    assert survivor.status().retained == (3,)


def test_the_log_is_made_anew_from_the_manifests(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state", keep=2)
    sync.catch_up()
    log = tmp_path / "state" / "history.jsonl"
    for damage in (None, b"", b"\n", log.read_bytes()[:-30], log.read_bytes()[40:]):
        log.unlink() if damage is None else log.write_bytes(damage)
        fresh = sync_of(store, tmp_path / "state", keep=2)
        assert fresh.status().retained == (3, 4)
        assert fresh.plan().passed_over == ()
        assert not fresh.step().changed
        again = sync_of(store, tmp_path / "state").state.history
        assert again.entries.keys() == {1, 2, 3, 4}
        assert again.with_files >= {3, 4}


def test_the_log_follows_rollback_rebuild_and_what_is_set_aside(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    sync.rollback(1)
    assert sync.step().version == 3
    (tmp_path / "state" / "000003" / "graph" / "edges.safetensors").write_bytes(b"")
    fresh = sync_of(store, tmp_path / "state")
    assert fresh.rebuild().version == 4
    for reader in (fresh, sync, sync_of(store, tmp_path / "state")):
        assert [report.version for report in reader.history()] == [1, 2, 4]
        assert sorted(reader.state.history.entries) == [1, 2, 4]
        names = sorted(reader.state.history.graph_versions, key=natural_key)
        assert names == [GRAPHS.format(version=name) for name in ("1", "2")]


def test_descriptions_that_vanish_between_two_steps_come_back(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    for _ in range(3):
        sync.step()
    first = ox.NamedNode("urn:kgsync:state#v1")
    for quad in [
        *store.quads_for_pattern(first, None, None, None),
        *store.quads_for_pattern(None, None, first, None),
    ]:
        store.remove(quad)
    sync.step()
    assert [*store.quads_for_pattern(None, None, first, None)]
    assert [*store.quads_for_pattern(first, None, None, None)]
