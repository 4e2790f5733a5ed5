"""Compaction of an embedded store: smaller, the same, and safe from a kill at any point."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgsync import KGSync, open_store
from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.config import PublishSettings, SourceSettings
from kgsync.errors import ConfigError, PermanentStoreError, TransientStoreError
from tests.processes import exit_code
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, iri, quick_settings

GRAPH, EMPTY = ox.NamedNode("urn:g"), ox.NamedNode("urn:empty")


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


def small(path: Path) -> set[ox.Quad]:
    """A small store with an empty graph."""
    disk_store(path, ["1"])
    store = ox.Store(str(path))
    store.add_graph(EMPTY)
    store.flush()
    return set(store)


_MOVING = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "exchange"}


def compacted(path: Path, killed_at: int, exchange: bool) -> None:
    """Compact in a process of its own that dies before the nth of its file operations."""
    import kgsync.adapters.oxigraph.compact as module

    calls = 0

    def count(event: str, _arguments: Any = None) -> None:
        nonlocal calls
        if event in _MOVING:
            calls += 1
            if calls == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)

    original = module._exchanged

    def exchanged(one: Path, other: Path) -> bool:
        count("exchange")
        return original(one, other) if exchange else False

    store = OxigraphStore.open(path)
    module._exchanged = exchanged
    sys.addaudithook(count)
    store.compact()


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory, where there is such a place: hundreds of stores are made in it."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def killed(path: Path, moment: int, *, exchange: bool) -> bool:
    """Whether a compaction was killed at one moment; False if it was over before."""
    code = exit_code(compacted, path, moment, exchange)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def moments(path: Path, *, exchange: bool, every: int = 1) -> Iterator[int]:
    """The moments at which a compaction of a small store can be killed; it is made anew."""
    for moment in itertools.count(1, every):
        for entry in path.parent.iterdir():
            shutil.rmtree(entry)
        small(path)
        if not killed(path, moment, exchange=exchange):
            return
        yield moment


def test_a_compacted_store_is_smaller_and_the_same(tmp_path: Path) -> None:
    left = wasteful(tmp_path / "kg")
    before, after = OxigraphStore.open(tmp_path / "kg").compact()
    assert after < before / 2
    assert quads_of(tmp_path / "kg") == left
    assert [file.name for file in tmp_path.iterdir()] == ["kg"]


def test_empty_graphs_and_the_rights_of_the_folder_are_kept(tmp_path: Path) -> None:
    small(tmp_path / "kg")
    (tmp_path / "kg").chmod(0o750)
    OxigraphStore.open(tmp_path / "kg").compact()
    graphs = set(ox.Store(str(tmp_path / "kg")).named_graphs())
    assert graphs == {EMPTY, ox.NamedNode(GRAPHS.format(version="1"))}
    assert (tmp_path / "kg").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("exchange", "every"), thinned([(True, 4), (True, 1), (False, 1)], lambda case: case[1] > 1)
)
def test_a_compaction_killed_at_any_moment_loses_nothing(
    memory: Path, exchange: bool, every: int
) -> None:
    path, seen = memory / "here" / "kg", 0
    path.parent.mkdir()
    left = small(path)
    for seen in moments(path, exchange=exchange, every=every):  # noqa: B007
        OxigraphStore.open(path).close()
        assert quads_of(path) == left
        assert EMPTY in set(ox.Store(str(path)).named_graphs())
        OxigraphStore.open(path).compact()
        assert quads_of(path) == left
        assert [file.name for file in path.parent.iterdir()] == ["kg"]
    assert seen > 10


@pytest.mark.parametrize("exchange", thinned([True, False], bool))
def test_what_was_written_after_a_killed_compaction_is_never_lost_to_the_old_store(
    memory: Path, exchange: bool
) -> None:
    """Whoever uses the store knows nothing of kgsync, and moves it away in the end."""
    path = memory / "here" / "kg"
    path.parent.mkdir()
    later = ox.Quad(ox.NamedNode("urn:later"), ox.NamedNode("urn:p"), ox.Literal("x"))
    old = small(path)
    for _ in moments(path, exchange=exchange):
        away = memory / "away"
        shutil.rmtree(away, ignore_errors=True)
        if path.exists():
            user = ox.Store(str(path))
            user.add(later)
            user.flush()
            del user
            path.rename(away)
            assert quads_of(away) == old | {later}
            with pytest.raises(PermanentStoreError, match="there is no Oxigraph store"):
                OxigraphStore.open(path)
            assert not path.exists()
        else:  # between two moves
            assert not exchange
            OxigraphStore.open(path).close()
            assert quads_of(path) == old


@pytest.mark.parametrize("exchange", thinned([True, False], bool))
def test_a_store_made_after_a_killed_compaction_and_the_old_one_are_both_kept(
    memory: Path, exchange: bool
) -> None:
    path, refused = memory / "here" / "kg", 0
    path.parent.mkdir()
    old = small(path)
    for _ in moments(path, exchange=exchange):
        if path.exists():
            continue
        refused += 1
        disk_store(path, ["2"])
        new = quads_of(path)
        with pytest.raises(PermanentStoreError, match=r"the store is at .*/before") as error:
            OxigraphStore.open(path).compact()
        place = re.search(r"the store is at (\S+),", str(error.value))
        assert place is not None
        assert quads_of(Path(place[1])) == old
        assert quads_of(path) == new
        path.rename(memory / f"new{refused}")
        OxigraphStore.open(path).compact()
        assert quads_of(path) == old
    assert bool(refused) != exchange


def test_another_store_that_is_put_in_its_place_meanwhile_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kgsync.adapters.oxigraph.compact as module

    disk_store(tmp_path / "other", ["2"])
    other = quads_of(tmp_path / "other")
    copy, check = module._copy, module._check_own
    for late in (False, True):
        old = small(tmp_path / "kg")

        def interfering() -> None:
            (tmp_path / "kg").rename(tmp_path / "kept")
            shutil.copytree(tmp_path / "other", tmp_path / "kg")

        def copying(path: Path, folder: Path) -> None:
            copy(path, folder)
            interfering()

        def checking(lock: int, path: Path, *, late: bool = late) -> None:
            check(lock, path)
            if late and path.name == "kg":
                interfering()

        monkeypatch.setattr(module, "_copy", copy if late else copying)
        monkeypatch.setattr(module, "_check_own", checking)
        with pytest.raises(PermanentStoreError, match="another store replaced"):
            OxigraphStore.open(tmp_path / "kg").compact()
        assert quads_of(tmp_path / "kg") == other
        assert quads_of(tmp_path / "kept") == old
        shutil.rmtree(tmp_path / "kg")
        shutil.rmtree(tmp_path / "kept")


def test_what_lies_beside_a_store_is_left_alone(tmp_path: Path) -> None:
    wasteful(tmp_path / "kg")
    own = {}
    for name in ("kg.before", "kg.compacting", ".kg.before", ".kg.kgsync-compacting"):
        disk_store(tmp_path / name, ["2"])
        own[name] = quads_of(tmp_path / name)
    (tmp_path / "kg.compacting.nq").write_text("mine")
    assert killed(tmp_path / "kg", 5, exchange=True)
    OxigraphStore.open(tmp_path / "kg").compact()
    assert {name: quads_of(tmp_path / name) for name in own} == own
    assert (tmp_path / "kg.compacting.nq").read_text() == "mine"
    assert {file.name for file in tmp_path.iterdir()} == {"kg", "kg.compacting.nq", *own}


def test_a_backup_does_not_become_a_store_that_is_missing(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg.before", ["1"])
    with pytest.raises(PermanentStoreError, match="there is no Oxigraph store"):
        OxigraphStore.open(tmp_path / "kg")
    assert [file.name for file in tmp_path.iterdir()] == ["kg.before"]


@pytest.mark.parametrize("exchange", [True, False])
def test_a_link_to_a_store_stays_one(memory: Path, exchange: bool) -> None:
    (memory / "big").mkdir()
    left = wasteful(memory / "big" / "store")
    link = memory / "kg"
    link.symlink_to(memory / "big" / "store")
    moment = 0
    while killed(link, moment := moment + 7, exchange=exchange):
        OxigraphStore.open(link).compact()
        assert link.is_symlink()
        assert quads_of(link) == left
        assert [file.name for file in (memory / "big").iterdir()] == ["store"]
        assert {file.name for file in memory.iterdir()} == {"big", "kg"}


def test_a_store_in_use_is_left_alone(tmp_path: Path) -> None:
    left = wasteful(tmp_path / "kg")
    user = ox.Store(str(tmp_path / "kg"))
    with pytest.raises(TransientStoreError, match="open in another process"):
        OxigraphStore.open(tmp_path / "kg").compact()
    assert set(user) == left


def test_a_store_in_memory_has_nothing_to_compact() -> None:
    with pytest.raises(ConfigError, match="only an embedded store on disk"):
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
