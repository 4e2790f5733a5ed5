"""Compaction of an embedded store: smaller, the same, and safe from a kill at any point."""

from __future__ import annotations

import multiprocessing as mp
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgsync import KGSync, open_store
from kgsync.adapters.oxigraph import OxigraphStore
from kgsync.config import PublishSettings, SourceSettings
from kgsync.errors import ConfigError, PermanentStoreError, TransientStoreError
from tests.worlds import GRAPHS, disk_store, iri, quick_settings

GRAPH = ox.NamedNode("urn:g")


def quads_of(path: Path) -> set[ox.Quad]:
    store = ox.Store(str(path))
    return set(store)


def wasteful(path: Path) -> set[ox.Quad]:
    """A store whose literals were rewritten; returns what is left in it."""
    disk_store(path, ["1"])
    store = ox.Store(str(path))
    for turn in range(6):
        store.remove_graph(GRAPH)
        store.bulk_extend(
            ox.Quad(ox.NamedNode(f"urn:{i}"), ox.NamedNode("urn:p"),
                    ox.Literal(f"{turn} {i} " + "x" * 1000), GRAPH)
            for i in range(500)
        )  # fmt: skip
    store.flush()
    return set(store)


def compacted(path: Path, killed_at: str) -> None:
    """Compact in a process of its own that dies at one call."""

    def dying(owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)
        calls = 0

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if f"{name} {calls}" == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)

        setattr(owner, name, call)

    import kgsync.adapters.oxigraph_compact as module

    store = OxigraphStore.open(path)
    dying(Path, "rename")
    dying(shutil, "rmtree")
    dying(module, "_copy")
    store.compact()


def test_a_compacted_store_is_smaller_and_the_same(tmp_path: Path) -> None:
    left = wasteful(tmp_path / "kg")
    before, after = OxigraphStore.open(tmp_path / "kg").compact()
    assert after < before / 2
    assert quads_of(tmp_path / "kg") == left
    assert [file.name for file in tmp_path.iterdir()] == ["kg"]


@pytest.mark.parametrize("moment", ["_copy 1", "rename 1", "rename 2", "rmtree 3", "rmtree 4"])
def test_a_killed_compaction_loses_nothing(tmp_path: Path, moment: str) -> None:
    left = wasteful(tmp_path / "kg")
    child = mp.get_context("forkserver").Process(target=compacted, args=(tmp_path / "kg", moment))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    store = OxigraphStore.open(tmp_path / "kg")
    store.close()
    assert quads_of(tmp_path / "kg") == left
    OxigraphStore.open(tmp_path / "kg").compact()
    assert quads_of(tmp_path / "kg") == left
    assert [file.name for file in tmp_path.iterdir()] == ["kg"]


@pytest.mark.parametrize("killed", [False, True])
def test_what_lies_beside_a_store_is_left_alone(tmp_path: Path, killed: bool) -> None:
    wasteful(tmp_path / "kg")
    own = {}
    for name in ("kg.before", "kg.compacting", ".kg.before"):
        disk_store(tmp_path / name, ["2"])
        own[name] = quads_of(tmp_path / name)
    (tmp_path / "kg.compacting.nq").write_text("mine")
    if killed:
        child = mp.get_context("forkserver").Process(
            target=compacted, args=(tmp_path / "kg", "rename 2")
        )
        child.start()
        child.join()
    OxigraphStore.open(tmp_path / "kg").compact()
    assert {name: quads_of(tmp_path / name) for name in own} == own
    assert (tmp_path / "kg.compacting.nq").read_text() == "mine"
    assert {file.name for file in tmp_path.iterdir()} == {"kg", "kg.compacting.nq", *own}


def test_a_backup_does_not_become_a_store_that_is_missing(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg.before", ["1"])
    with pytest.raises(PermanentStoreError, match="there is no Oxigraph store"):
        OxigraphStore.open(tmp_path / "kg")
    assert [file.name for file in tmp_path.iterdir()] == ["kg.before"]


@pytest.mark.parametrize("moment", [None, "_copy 1", "rename 1", "rename 2", "rmtree 4"])
def test_a_link_to_a_store_stays_one(tmp_path: Path, moment: str | None) -> None:
    (tmp_path / "big").mkdir()
    left = wasteful(tmp_path / "big" / "store")
    link = tmp_path / "kg"
    link.symlink_to(tmp_path / "big" / "store")
    if moment is not None:
        child = mp.get_context("forkserver").Process(target=compacted, args=(link, moment))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    before, after = OxigraphStore.open(link).compact()
    assert before > after or moment is not None
    assert link.is_symlink()
    assert quads_of(link) == left
    assert [file.name for file in (tmp_path / "big").iterdir()] == ["store"]
    assert {file.name for file in tmp_path.iterdir()} == {"big", "kg"}


def test_a_store_made_since_an_interrupted_compaction_does_not_cost_the_old_one(
    tmp_path: Path,
) -> None:
    left = wasteful(tmp_path / "kg")
    child = mp.get_context("forkserver").Process(
        target=compacted, args=(tmp_path / "kg", "rename 2")
    )
    child.start()
    child.join()
    disk_store(tmp_path / "kg", ["2"])
    with pytest.raises(PermanentStoreError, match=r"the store is at .*\.kg\.kgsync-before"):
        OxigraphStore.open(tmp_path / "kg").compact()
    assert quads_of(tmp_path / ".kg.kgsync-before") == left


def test_a_store_made_during_a_compaction_does_not_cost_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = wasteful(tmp_path / "kg")
    rename = Path.rename

    def interfering(path: Path, target: Path) -> Path:
        moved = rename(path, target)
        if target.name == ".kg.kgsync-before":
            disk_store(tmp_path / "kg", ["2"])
        return moved

    monkeypatch.setattr(Path, "rename", interfering)
    for _ in range(3):
        with pytest.raises(PermanentStoreError, match=r"the store is at .*\.kg\.kgsync-before"):
            OxigraphStore.open(tmp_path / "kg").compact()
        assert quads_of(tmp_path / ".kg.kgsync-before") == left
    shutil.rmtree(tmp_path / "kg")
    OxigraphStore.open(tmp_path / "kg").close()
    assert quads_of(tmp_path / "kg") == left


def test_a_kill_before_the_old_store_may_be_removed_removes_neither(tmp_path: Path) -> None:
    left = wasteful(tmp_path / "kg")
    child = mp.get_context("forkserver").Process(
        target=compacted, args=(tmp_path / "kg", "rename 3")
    )
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    with pytest.raises(PermanentStoreError, match=r"unless .*kg holds the same already"):
        OxigraphStore.open(tmp_path / "kg").compact()
    assert quads_of(tmp_path / ".kg.kgsync-before") == quads_of(tmp_path / "kg") == left


def test_a_store_in_use_is_left_alone(tmp_path: Path) -> None:
    left = wasteful(tmp_path / "kg")
    user = ox.Store(str(tmp_path / "kg"))
    with pytest.raises(TransientStoreError, match="open in another process"):
        OxigraphStore.open(tmp_path / "kg").compact()
    assert set(user) == left


def test_a_store_in_memory_has_nothing_to_compact() -> None:
    with pytest.raises(ConfigError, match="no directory"):
        OxigraphStore.open(ox.Store()).compact()


def test_a_sync_compacts_where_it_publishes(tmp_path: Path) -> None:
    settings = replace(
        quick_settings(),
        source=SourceSettings(max_removed=1.0),
        publish=PublishSettings(literals="versions", keep=2),
    )
    state = tmp_path / "state"
    sync = KGSync(disk_store(tmp_path / "kg"), GRAPHS, state=state, settings=settings)
    sync.catch_up()
    vector = sync.embedding(iri("e20"))
    before, after = sync.compact()
    assert 0 < after <= before
    assert not sync.step().changed
    assert (sync.embedding(iri("e20")) == vector).all()
    names = [name for name in open_store(tmp_path / "kg").graphs() if "/vectors/" in name]
    assert len(names) == 1
