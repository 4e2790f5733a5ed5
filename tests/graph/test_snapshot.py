"""Packed keys, and snapshots as sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.errors import KgsyncError
from kgsync.graph.active import Active
from kgsync.graph.snapshot import KeyLayout, Snapshot, common_layout, contains
from tests.graph.graphs import Edge, as_edges, edge_sets, edges, examples, ids, index, snapshot

Rows = list[tuple[int, int, int]]


@st.composite
def sized_rows(draw: st.DrawFn) -> tuple[KeyLayout, Rows]:
    """A layout and triples of ids that fit it, the largest ones included."""
    entities, relations = draw(st.integers(1, 2**27)), draw(st.integers(1, 2**10))
    entity, relation = st.integers(0, entities - 1), st.integers(0, relations - 1)
    rows = draw(st.lists(st.tuples(entity, relation, entity), max_size=30))
    rows.append((entities - 1, relations - 1, entities - 1))
    return KeyLayout.for_sizes(entities, relations), rows


@examples(60)
@given(sized_rows())
def test_unpacking_gives_back_what_was_packed(sized: tuple[KeyLayout, Rows]) -> None:
    layout, rows = sized
    columns = [ids(*column) for column in zip(*rows, strict=True)]
    unpacked = layout.unpack(layout.pack(*columns))
    for before, after in zip(columns, unpacked, strict=True):
        assert after.dtype == np.int32
        assert np.array_equal(before, after)


@examples(60)
@given(sized_rows())
def test_keys_sort_as_head_relation_tail_do(sized: tuple[KeyLayout, Rows]) -> None:
    layout, rows = sized
    keys = layout.pack(*(ids(*column) for column in zip(*rows, strict=True)))
    order = np.argsort(keys, kind="stable")
    assert [rows[position] for position in order] == sorted(rows)
    assert len(np.unique(keys)) == len(set(rows))


def test_packing_leaves_the_columns_alone() -> None:
    heads = ids(3, 1)
    KeyLayout(4, 4).pack(heads, ids(2, 2), ids(0, 5))
    assert heads.tolist() == [3, 1]


def test_a_layout_uses_all_64_bits() -> None:
    assert KeyLayout.for_sizes(2**27, 2**10) == KeyLayout(27, 10)
    assert KeyLayout.for_sizes(2**24 + 1, 2**14) == KeyLayout(25, 14)


@pytest.mark.parametrize(
    ("entities", "relations"), [(2**27 + 1, 2**10), (2**27, 2**10 + 1), (2**31, 5)]
)
def test_ids_that_do_not_fit_a_key_are_an_error_with_a_remedy(
    entities: int, relations: int
) -> None:
    with pytest.raises(KgsyncError, match=r"do not fit a 64-bit triple key.*or a filter") as e:
        KeyLayout.for_sizes(entities, relations)
    assert f"{entities:,} entities" in str(e.value)


def test_a_snapshot_that_does_not_fit_a_key_is_an_error() -> None:
    with pytest.raises(KgsyncError, match="64-bit triple key"):
        Snapshot.of(ids(2**30), ids(2**10), ids(0))


def test_two_snapshots_that_only_together_need_too_many_bits_are_an_error() -> None:
    many_entities = Snapshot.of(ids(2**29), ids(0), ids(0))
    many_relations = Snapshot.of(ids(0), ids(2**20), ids(0))
    with pytest.raises(KgsyncError, match="64-bit triple key"):
        common_layout(many_entities, many_relations)


def test_a_snapshot_sorts_its_edges_and_merges_doubles() -> None:
    merged = Snapshot.of(ids(2, 0, 2, 0), ids(1, 1, 1, 0), ids(3, 1, 3, 9))
    rows = list(zip(*(column.tolist() for column in merged.columns), strict=True))
    assert rows == [(0, 0, 9), (0, 1, 1), (2, 1, 3)]
    assert merged.entities.tolist() == [0, 1, 2, 3, 9]
    assert merged.relation_ids.tolist() == [0, 1]


@examples(60)
@given(edge_sets, edge_sets)
def test_snapshots_are_sets(one: frozenset[Edge], other: frozenset[Edge]) -> None:
    terms = index(one, other)
    a, b = snapshot(one, terms), snapshot(other, terms)
    assert as_edges(a, terms) == one
    assert as_edges(a.minus(b), terms) == one - other
    assert as_edges(a.plus(b), terms) == one | other
    assert (a == b) == (one == other)
    layout = common_layout(a, b)
    assert contains(a.keys(layout), b.keys(layout)).sum() == len(one & other)


def test_an_empty_snapshot_is_a_set_too() -> None:
    empty, one = Snapshot.empty(), Snapshot.of(ids(4), ids(2), ids(1))
    assert Snapshot.of(*empty.columns) == empty
    assert len(empty.entities) == len(empty.relation_ids) == 0
    assert empty.minus(one) == empty
    assert one.minus(empty) == one
    assert empty.plus(one) == one
    assert empty != one


def test_a_snapshot_equals_nothing_but_a_snapshot() -> None:
    assert Snapshot.empty() != ()


def test_rows_are_positions_among_the_living() -> None:
    active = Active.of(Snapshot.of(ids(2, 7), ids(4, 9), ids(7, 5)))
    assert active.entities.tolist() == [2, 5, 7]
    assert active.relations.tolist() == [4, 9]
    assert active.rows(Snapshot.of(ids(7), ids(4), ids(5))).tolist() == [[2], [0], [1]]


def test_an_edge_lives_when_its_three_elements_do() -> None:
    version = edges("a p b", "b q c")
    others = edges("a q c", "a p new", "new p a", "a new b")
    terms = index(version, others)
    candidates = snapshot(others, terms)
    alive = Active.of(snapshot(version, terms)).all_active(candidates)
    assert as_edges(candidates.where(alive), terms) == edges("a q c")
