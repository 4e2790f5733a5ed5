"""What only the embedded Oxigraph store does."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.errors import PermanentStoreError
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store
from tests.graph.graphs import EX, NEW, OLD, edges, ntriples, oxigraph, scanned


def test_writes_are_on_disk_when_they_return(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True)
    store.insert(OLD, ntriples(edges("a p b")))
    store.update(f"INSERT DATA {{ GRAPH <{NEW}> {{ <{EX}a> <{EX}p> <{EX}b> }} }}")
    store.close()
    again = open_store(tmp_path)
    assert again.graphs() == [OLD, NEW]
    again.close()


def test_closing_leaves_a_store_of_the_user_open() -> None:
    users = oxigraph({OLD: ntriples(edges("a p b"))})
    open_store(users).close()
    assert len(users) == 1


def test_a_failed_insert_adds_nothing() -> None:
    store = open_store(oxigraph({OLD: ntriples(edges("a p b"))}))
    with pytest.raises(PermanentStoreError):
        store.insert(OLD, ntriples(edges("x p y")) + "oops\n")
    assert store.count(TripleSource(OLD)) == 1


def test_a_failed_update_of_several_parts_changes_nothing() -> None:
    store = open_store(oxigraph({OLD: ntriples(edges("a p b"))}))
    with pytest.raises(PermanentStoreError):
        store.update(f"CLEAR GRAPH <{OLD}> ; LOAD <file:///missing> INTO GRAPH <{NEW}>")
    assert store.count(TripleSource(OLD)) == 1


def test_a_graph_name_that_is_no_iri_cannot_be_written() -> None:
    store = open_store(ox.Store())
    with pytest.raises(PermanentStoreError):
        store.insert("not an iri", ntriples(edges("a p b")))
    assert store.graphs() == []


def test_a_literal_longer_than_a_block_is_one_row() -> None:
    text = ntriples(edges("a p b")) + f'<{EX}a> <{EX}note> "{"x" * 1_500_000}" .\n'
    store = open_store(oxigraph({OLD: text}))
    assert len(scanned(store, TripleSource(OLD))) == 2


def test_several_threads_may_read_at_once() -> None:
    version = frozenset((f"{EX}s{number}", EX + "p", EX + "o") for number in range(2_000))
    store = open_store(oxigraph({OLD: ntriples(version)}))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: scanned(store, TripleSource(OLD)), range(8)))
    assert [len(set(answer)) for answer in answers] == [2_000] * 8


@pytest.mark.parametrize("size", [10, 20_000])
def test_a_text_of_any_size_is_inserted_whole(tmp_path: Path, size: int) -> None:
    store = open_store(tmp_path, create=True)
    lines = ntriples(
        (f"{EX}subject/{n}", f"{EX}predicate", f"{EX}{n * 7 % size}") for n in range(size)
    )
    store.insert(OLD, ntriples(edges("a p b")))
    for _ in range(2):
        store.insert(OLD, lines)
        assert store.count(TripleSource(OLD)) == size + 1
    with pytest.raises(PermanentStoreError):
        store.insert(NEW, lines + "oops\n")
    assert store.graphs() == [OLD]
    store.close()


@pytest.mark.parametrize("size", [1, 20_000])
def test_iris_that_are_not_valid_are_inserted_as_they_are(size: int) -> None:
    store = open_store(ox.Store())
    store.insert(OLD, f"<{EX}a> <{EX}p> <{EX}a b> .\n" * size)
    assert scanned(store, TripleSource(OLD)) == [(f"<{EX}a>", f"<{EX}p>", f"<{EX}a b>")]


def test_an_error_that_is_kept_does_not_keep_the_store_locked(tmp_path: Path) -> None:
    store = OxigraphStore.open(tmp_path / "kg", create=True)
    for ask in (store.select, lambda text: store.query(text, {})):
        with pytest.raises(PermanentStoreError) as kept:
            ask("SELECT nonsense")
        assert kept.value.__traceback__ is not None
    store.close()
    OxigraphStore.open(tmp_path / "kg").close()


def test_a_store_cannot_be_made_on_a_disk_that_cannot_be_written(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(PermanentStoreError, match=r"cannot create .*: the folder is not writable"):
        open_store(small_disk / "new", create=True)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may do anything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_store_that_may_not_be_entered_is_not_told_as_missing() -> None:
    with tempfile.TemporaryDirectory() as folder:  # all of which anybody may enter
        Path(folder).chmod(0o755)
        path = Path(folder, "kg")
        with as_nobody(), pytest.raises(PermanentStoreError, match="there is no Oxigraph store"):
            open_store(path)
        OxigraphStore.open(path, create=True).close()
        path.chmod(0)
        with as_nobody(), pytest.raises(PermanentStoreError, match=r"kg: Permission denied"):
            open_store(path)
        path.chmod(0o700)
