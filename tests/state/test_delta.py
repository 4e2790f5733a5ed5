"""delta.parquet: exactly what a consumer of the version before has to change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgsync.config import ModelSettings
from kgsync.graph.active import Active
from kgsync.graph.terms import TermIndex, TermTable
from kgsync.state.delta import Rows, delta_table
from tests.state.sidecars import embeddings, make_sync, vectors

NONE = np.empty((0, 3), np.float32)
TERMS = TermIndex(
    b"",
    TermTable(pa.array([f"urn:e{i}" for i in range(300)])),
    TermTable(pa.array([f"urn:r{i}" for i in range(5)])),
)


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def entities(table: Any, *numbers: int) -> Rows:
    active = Active(ids(*numbers), ids())
    return Rows(active, {"entity": np.array(table, np.float32), "relation": NONE})


def rows(delta: Any) -> list[tuple[str, str, str, float | None]]:
    assert delta.column_names == ["iri", "kind", "change", "distance"]
    assert delta.schema.field("distance").type == pa.float32()
    return [tuple(row.values()) for row in delta.to_pylist()]


def test_what_comes_goes_and_moves_is_told_and_nothing_else() -> None:
    before = entities([[0, 0, 0], [1, 1, 1], [2, 2, 2]], 1, 4, 7)
    after = entities([[3, 4, 0], [2, 2, 2], [9, 9, 9]], 1, 7, 8)
    assert sorted(rows(delta_table(TERMS, before, after))) == [
        ("urn:e1", "entity", "moved", 5.0),
        ("urn:e4", "entity", "deleted", None),
        ("urn:e8", "entity", "added", None),
    ]


def test_an_iri_that_is_both_an_entity_and_a_relation_is_told_of_as_each() -> None:
    terms = TermIndex(b"", TermTable(pa.array(["urn:x"])), TermTable(pa.array(["urn:x"])))
    active = Active(ids(0), ids(0))
    zero, one = np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)
    before = Rows(active, {"entity": zero, "relation": zero})
    after = Rows(active, {"entity": zero, "relation": one})
    expected = float(np.float32(np.sqrt(3)))
    assert rows(delta_table(terms, before, after)) == [("urn:x", "relation", "moved", expected)]


def test_everything_is_added_to_nothing() -> None:
    assert rows(delta_table(TERMS, None, entities([[1, 2, 3], [4, 5, 6]], 0, 2))) == [
        ("urn:e0", "entity", "added", None),
        ("urn:e2", "entity", "added", None),
    ]


@pytest.mark.parametrize("tables", [{}, {"entity": np.zeros((2, 5), np.float32)}])
def test_vectors_that_cannot_be_compared_have_moved_by_nobody_knows_what(
    tables: dict[str, Any],
) -> None:
    before = Rows(Active(ids(0, 1), ids()), {"relation": NONE, **tables})
    after = entities([[1, 2, 3], [4, 5, 6]], 1, 2)
    assert rows(delta_table(TERMS, before, after)) == [
        ("urn:e2", "entity", "added", None),
        ("urn:e1", "entity", "moved", None),
        ("urn:e0", "entity", "deleted", None),
    ]


def test_the_smallest_and_the_largest_moves_are_moves() -> None:
    tiny = np.finfo(np.float32).smallest_subnormal
    before = entities([[0, 0, 0], [0, 0, 0], [1, 0, 0]], 0, 1, 2)
    after = entities([[tiny, 0, 0], [1e30, 1e30, 0], [1, 0, 0]], 0, 1, 2)
    (small, large) = rows(delta_table(TERMS, before, after))
    assert small == ("urn:e0", "entity", "moved", float(tiny))
    assert large[3] == pytest.approx(2**0.5 * 1e30)


def test_many_rows_agree_with_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsync.state.delta._AT_A_TIME", 100)  # many blocks
    random = np.random.default_rng(0)
    alive = [np.sort(random.choice(300, 200, replace=False)) for _ in range(2)]
    everything = random.standard_normal((300, 3)).astype(np.float32)
    moved = everything.copy()
    moved[::3] += random.standard_normal((100, 3)).astype(np.float32)
    delta = delta_table(
        TERMS,
        entities(everything[alive[0]], *alive[0]),
        entities(moved[alive[1]], *alive[1]),
    )
    expected: dict[str, tuple[str, float | None]] = {}
    for i in range(300):
        was, is_ = i in alive[0], i in alive[1]
        distance = float(np.linalg.norm((moved[i] - everything[i]).astype(np.float64)))
        if was and is_ and distance:
            expected[f"urn:e{i}"] = "moved", distance
        elif was != is_:
            expected[f"urn:e{i}"] = ("deleted" if was else "added"), None
    found = {iri: (change, distance) for iri, _, change, distance in rows(delta)}
    assert found.keys() == expected.keys()
    for iri, (change, how_far) in expected.items():
        assert found[iri] == (change, how_far and pytest.approx(how_far, rel=1e-5))


def test_a_consumer_that_applies_every_delta_holds_the_current_vectors(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    changes = []
    sync.catch_up()
    held: dict[tuple[str, str], list[float]] = {}
    for version in (1, 2, 3, 4):
        folder = embeddings(sync, version)
        new = vectors(folder)
        delta = pq.read_table(folder / "delta.parquet").to_pylist()
        for row in delta:
            key = row["kind"], row["iri"]
            if row["change"] == "deleted":
                del held[key]
                continue
            assert (key in held) == (row["change"] == "moved")
            if row["change"] == "moved":
                way = np.subtract(new[key], held[key])
                assert row["distance"] == pytest.approx(np.linalg.norm(way), rel=1e-5)
            held[key] = new[key]
        assert held == new
        changes.append({(row["kind"], row["change"]) for row in delta})
    assert changes[0] == {("entity", "added"), ("relation", "added")}
    assert ("entity", "deleted") in changes[1]
    assert {("relation", "added"), ("relation", "deleted")} <= changes[2]
    assert changes[3] == set()  # the fourth version equals the third


def test_a_rebuild_in_another_dimension_moves_all_that_stays(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    sync.catch_up()
    sync.settings = replace(sync.settings, model=ModelSettings("transe", dimension=6))
    assert sync.rebuild().version == 5
    delta = pq.read_table(embeddings(sync, 5) / "delta.parquet").to_pylist()
    assert {(row["change"], row["distance"]) for row in delta} == {("moved", None)}
    assert {(row["kind"], row["iri"]) for row in delta} == set(vectors(embeddings(sync, 4)))


def test_a_rebuild_over_damaged_vectors_still_tells_what_changed(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    sync.step()
    (embeddings(sync, 1) / "tensors.safetensors").write_bytes(b"no tensors")
    assert sync.rebuild().action == "rebuilt"
    delta = pq.read_table(embeddings(sync, 2) / "delta.parquet").to_pylist()
    assert {row["change"] for row in delta} == {"added", "deleted", "moved"}
    assert {row["distance"] for row in delta} == {None}
