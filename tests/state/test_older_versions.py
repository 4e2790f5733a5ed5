"""Reading older versions, and going back to one."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from kgsync import KGSync
from kgsync.cli.app import app
from kgsync.config import SourceSettings
from kgsync.errors import StateCorruptedError, StateError, TransientStoreError
from tests.processes import python
from tests.worlds import (
    GRAPHS,
    current_versions,
    disk_store,
    fill,
    iri,
    quads,
    quick_settings,
    versions,
)


def sync_of(store: ox.Store | Path, state: Path) -> KGSync:
    settings = replace(quick_settings(), source=SourceSettings(max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings)


def test_every_kept_version_reads_as_it_was(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    seen = {}
    for number in range(1, 4):
        sync.step()
        seen[number] = sync.embedding(iri("e20")), sync.neighbors(iri("e20"), 3)
    for number, (vector, near) in seen.items():
        view = sync.at(number)
        assert (view.version, view.report.version) == (number, number)
        assert np.array_equal(view.embedding(iri("e20")), vector)
        assert view.neighbors(iri("e20"), 3) == near
    assert sync.at().version == 3
    assert sync.at(1).embedding(iri("e9")) is not None
    with pytest.raises(KeyError, match="last version that has it is 1"):
        sync.at(2).embedding(iri("e9"))


def test_a_version_whose_files_are_gone_says_which_are_kept(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.catch_up()
    for way in (sync.at, sync.rollback):
        with pytest.raises(
            StateError, match=r"files of version 1 were removed; versions with files: 2, 3, 4"
        ):
            way(1)
        with pytest.raises(StateError, match="there is no embedding version 9"):
            way(9)
    assert sync.status().version == 4


def test_a_version_that_was_never_committed_is_none(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2"])
    sync_of(store, tmp_path / "state").step()
    code = (
        "import os, signal; from kgsync.state.directory import State\n"
        "State.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from pathlib import Path; from tests.state.test_older_versions import sync_of\n"
        f"sync_of(Path({str(store)!r}), Path({str(tmp_path / 'state')!r})).step()"
    )
    assert python(code) == -signal.SIGKILL
    assert (tmp_path / "state" / "000002").is_dir()
    sync = sync_of(store, tmp_path / "state")
    with pytest.raises(StateError, match="there is no embedding version 2"):
        sync.at(2)
    with pytest.raises(StateError, match="there is no embedding version 2"):
        sync.rollback(2)


def test_a_rollback_is_whole_or_nothing(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    damaged = tmp_path / "state" / "000003" / "graph" / "edges.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(StateCorruptedError, match="does not match its checksum"):
        sync.rollback(3)
    assert sync.status().version == 4
    assert current_versions(store) == ["4"]
    sync.rollback(2)
    assert current_versions(store) == ["2"]
    entry = json.loads((tmp_path / "state" / "current.json").read_text())
    assert (entry["version"], entry["folder"]) == (2, "000002/embeddings")
    sync.rollback(2)
    reports = sync.catch_up()
    assert [(r.version, r.previous) for r in reports] == [(5, 2), (6, 5)]
    assert current_versions(store) == ["6"]
    assert [report.version for report in sync.history()] == [1, 2, 3, 4, 5, 6]


def test_a_rollback_that_the_store_did_not_hear_of_is_finished_by_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = disk_store(tmp_path / "kg")
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    monkeypatch.setattr("kgsync.publish.target._PATIENCE_SECONDS", 0.0)
    held: list[ox.Store] = []
    commit = type(sync.state).commit

    def commit_and_lock(self: object, number: int) -> None:
        commit(sync.state, number)
        held.append(ox.Store(str(store)))  # another process, as far as the lock can tell

    monkeypatch.setattr(type(sync.state), "commit", commit_and_lock)
    with pytest.raises(
        TransientStoreError, match="current in the state, but publishing is incomplete"
    ):
        sync.rollback(3)
    held.clear()
    monkeypatch.setattr(type(sync.state), "commit", commit)
    assert sync.status().version == 3
    assert current_versions(ox.Store(str(store))) == ["4"]
    assert sync.step().version == 5
    assert current_versions(ox.Store(str(store))) == ["5"]


def test_retention_keeps_the_version_that_the_current_one_came_from(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.catch_up()
    assert sync.status().retained == (2, 3, 4)
    sync.rollback(2)
    assert sync.status().retained == (2, 3, 4)
    assert sync.step().previous == 2
    assert sync.status().retained == (2, 4, 5)
    sync.rollback(2)


def test_a_version_that_comes_after_the_one_gone_back_to_is_not_late(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    sync.rollback(2)
    store.extend(quads("5", versions()["2"]))
    plan = sync.plan()
    assert plan.passed_over == ()
    assert plan.graph_version == GRAPHS.format(version="5")
    report = sync.step()
    assert report.graph_version == plan.graph_version
    assert report.warnings == ()
    sync.catch_up()
    assert sync.plan().passed_over == ()
    store.extend(quads("6", versions()["2"]))
    assert sync.plan().passed_over == (GRAPHS.format(version="6"),)


def test_the_commands(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg")
    config = tmp_path / "kgsync.toml"
    config.write_text(
        f'[source]\nstore = "{store}"\ngraphs = "{GRAPHS}"\nmax_removed = 1.0\n'
        "[model]\ndimension = 8\n[training]\nepochs = 5\nbatches = 4\n"
        "[update]\nchange_epochs = 1\ngeneral_epochs = 3\n"
    )
    run = CliRunner()
    settings = ["-c", str(config)]
    assert run.invoke(app, ["step", "--all", *settings]).exit_code == 0
    old = run.invoke(app, ["neighbors", iri("e20"), "--at", "2", "--json", *settings])
    now = run.invoke(app, ["neighbors", iri("e20"), "--json", *settings])
    assert json.loads(old.stdout) != json.loads(now.stdout)
    done = run.invoke(app, ["rollback", "2", *settings])
    assert done.exit_code == 0
    assert "version 2" in done.stdout
    again = run.invoke(app, ["neighbors", iri("e20"), "--json", *settings])
    assert json.loads(again.stdout) == json.loads(old.stdout)
    shrunk = run.invoke(app, ["compact", "--json", *settings])
    assert shrunk.exit_code == 0, shrunk.output
    assert json.loads(shrunk.stdout)["bytes_after"] > 0
