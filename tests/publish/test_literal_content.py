"""The way from what a graph of literals holds to what it shall hold."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgsync.errors import StateCorruptedError
from kgsync.graph.active import Active
from kgsync.graph.terms import TermIndex, TermTable
from kgsync.publish.literals.content import Content
from kgsync.state.delta import Rows, delta_table

SIZE, WIDTH = 200, 50


def content(entities: np.ndarray) -> Content:
    names = pa.array([f"urn:e{i}" for i in range(len(entities))])
    relations = np.zeros((1, entities.shape[1]), np.float32)
    return Content(
        {"entity": names, "relation": pa.array(["urn:r"])},
        {"entity": entities, "relation": relations},
    )


@pytest.fixture
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Two tables of which every row has moved."""
    random = np.random.default_rng(0)
    old = random.standard_normal((SIZE, WIDTH)).astype(np.float32)
    return old, old + random.standard_normal((SIZE, WIDTH)).astype(np.float32) / 100


def test_distances_are_those_of_the_delta(tables: tuple[np.ndarray, np.ndarray]) -> None:
    old, new = map(content, tables)
    ids = np.arange(SIZE, dtype=np.int32)
    active = Active(ids, np.zeros(1, np.int32))
    terms = TermIndex(b"", TermTable(old.iris["entity"]), TermTable(old.iris["relation"]))
    delta = delta_table(terms, Rows(active, old.tables), Rows(active, new.tables))
    moves = new.changes_from(old, 0.0)["entity"].distances
    assert moves.tobytes() == delta["distance"].to_numpy().tobytes()


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_what_is_no_number_is_never_left_alone(
    tables: tuple[np.ndarray, np.ndarray], tolerance: float
) -> None:
    old = tables[0]
    new = old.copy()
    new[7, 3] = np.nan
    changes = content(new).changes_from(content(old), tolerance)["entity"]
    assert changes.written.tolist() == [7]


def test_the_sign_of_a_zero_is_a_difference() -> None:
    old, new = np.zeros((3, 2), np.float32), np.zeros((3, 2), np.float32)
    new[1, 0] = -0.0
    assert content(new).changes_from(content(old), 0.0)["entity"].written.tolist() == [1]


def test_what_is_saved_is_loaded_and_other_file_systems_are_left_alone(
    tmp_path: Path, tables: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = [], os.fsync

    def note(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "sync", lambda: pytest.fail("every file system was flushed"))
    content(tables[0]).save(tmp_path / "literals" / "a", "digest")
    folder = tmp_path / "literals"
    assert sorted(synced) == sorted(p.stat().st_ino for p in (folder, *folder.rglob("*")))
    loaded = Content.load(folder / "a")
    assert loaded is not None
    assert np.array_equal(loaded.tables["entity"], tables[0])


def test_files_that_do_not_fit_each_other_are_refused(
    tmp_path: Path, tables: tuple[np.ndarray, np.ndarray]
) -> None:
    content(tables[0]).save(tmp_path / "a", "digest")
    index = pq.read_table(tmp_path / "a" / "index.parquet")
    pq.write_table(index.slice(1), tmp_path / "a" / "index.parquet")
    with pytest.raises(StateCorruptedError, match=r"index\.parquet .*'entity': 199.*rebuild"):
        Content.of_sidecar(tmp_path / "a")
    assert Content.load(tmp_path / "a") is None
