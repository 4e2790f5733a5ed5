"""What follows from a small change is what would be found in the whole graph."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kgsync.graph.active import Active, are_among, shared_rows
from kgsync.graph.row_triples import RowTriples
from kgsync.graph.snapshot import Snapshot, Uses
from kgsync.graph.split import EdgeSums, Part, Splitter
from kgsync.graph.terms import TermIndex

_ENTITIES, _RELATIONS = 900, 7
_SPLITTER = Splitter(0.1, 0.1)


class World:
    """A graph, and a change so small that its edges are searched one by one."""

    def __init__(self, seed: int, changed: int = 6) -> None:
        random = np.random.default_rng(seed)
        # The first entities and one of the last have no edge; the last relation has one.
        heads = random.integers(20, _ENTITIES - 1, 20_000)
        relations = random.integers(0, _RELATIONS - 1, 20_000)
        tails = random.integers(20, _ENTITIES - 1, 20_000)
        heads[0], relations[0], tails[0] = 500, _RELATIONS - 1, 500  # and is a loop
        self.old = _snapshot(heads, relations, tails)
        gone = random.permutation(len(self.old))[:changed]
        mask = np.zeros(len(self.old), bool)
        mask[gone] = True
        mask |= self.old.relations == _RELATIONS - 1
        mask[[0, -1]] = True  # also at both ends
        self.deleted = self.old.where(mask)
        new = random.integers(0, _ENTITIES, (2, changed))
        new[0, 0], new[1, -1] = 0, _ENTITIES - 1
        self.added = _snapshot(new[0], random.integers(0, _RELATIONS - 1, changed), new[1]).minus(
            self.old
        )
        edges = (_triples(self.old) - _triples(self.deleted)) | _triples(self.added)
        self.new = _snapshot(*np.array(sorted(edges)).T)

    @cached_property
    def terms(self) -> TermIndex:
        return TermIndex(b"key").extended(_iris("e", _ENTITIES), _iris("r", _RELATIONS))


def _snapshot(*columns: np.ndarray) -> Snapshot:
    return Snapshot.of(*(column.astype(np.int32) for column in columns))


def _triples(edges: Snapshot) -> set[tuple[int, int, int]]:
    return set(zip(*(column.tolist() for column in edges.columns), strict=True))


def _iris(kind: str, count: int) -> pa.Array:
    return pa.array([f"urn:{kind}:{number * 7919 % count:04}" for number in range(count)])


every_size = pytest.mark.parametrize("changed", [1, 6, 400])


@every_size
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_snapshot_is_the_new_one(seed: int, changed: int) -> None:
    world = World(seed, changed)
    assert set(world.old.uses.entities[[0, 1]]) == {0}  # counted, so counted on
    found = world.old.changed(world.deleted, world.added)
    assert found == world.new
    assert all(column.dtype == np.int32 for column in found.columns)
    counted = Uses.of(world.new)
    assert np.array_equal(found.entities, np.flatnonzero(counted.entities))
    assert np.array_equal(found.relation_ids, np.flatnonzero(counted.relations))
    assert np.array_equal(np.trim_zeros(found.uses.entities, "b"), counted.entities)
    assert _RELATIONS - 1 not in found.relation_ids


@every_size
def test_sets_of_few_and_many_edges(changed: int) -> None:
    world = World(5, changed)
    mixed = world.deleted.plus(world.added)
    old, some = _triples(world.old), _triples(mixed)
    assert _triples(world.old.minus(mixed)) == old - some
    assert _triples(mixed.minus(world.old)) == some - old
    assert _triples(mixed.within(world.old)) == old & some
    assert _triples(world.old.plus(mixed)) == old | some
    assert _triples(world.old.minus(Snapshot.empty())) == old


@every_size
def test_the_split_and_the_sums_follow_from_the_change(changed: int) -> None:
    world = World(2, changed)
    parts = [
        [edges.where(_SPLITTER.parts(edges, world.terms) == part) for part in Part]
        for edges in (world.deleted, world.added)
    ]
    split = _SPLITTER.split(world.old, world.terms).changed(tuple(parts[0]), tuple(parts[1]))
    assert split == _SPLITTER.split(world.new, world.terms)
    sums = EdgeSums.of(world.old, world.terms)
    followed = sums.changed(world.deleted, world.added, world.terms)
    assert followed == EdgeSums.of(world.new, world.terms)
    assert followed.fingerprint != sums.fingerprint


def test_a_few_terms_are_found_among_many() -> None:
    many = pa.array([f"urn:{number}" for number in range(5000)])
    table = TermIndex(b"key").extended(many, many).entities
    few = pa.array(["urn:17", "urn:unknown", "urn:4999", "urn:17"])
    assert (
        table.ids(few).tolist() == pc.index_in(few, value_set=table.iris).fill_null(-1).to_pylist()
    )
    more = table.extended(pa.array(["urn:b", "urn:a", "urn:17"]), b"key")
    assert more.iris[5000:].to_pylist() == ["urn:a", "urn:b"]
    again = pa.array(["urn:b", "urn:0", "urn:a", "urn:c"])
    assert more.ids(again).tolist() == [5001, table.ids(again)[1], 5000, -1]
    sliced = pa.array(["urn:none", "urn:3"])[1:]
    assert more.iris[int(more.ids(sliced)[0])].as_py() == "urn:3"


def test_terms_with_equal_hashes_are_told_apart() -> None:
    table = TermIndex(b"key").extended(
        pa.array([f"urn:{n}" for n in range(2000)]), pa.array([], pa.string())
    )
    entities = table.entities
    equal = type(entities)(entities.iris, np.zeros(2000, np.uint64), entities.key)
    # Each hash is that of no IRI here but for those that are looked up.
    wanted = pa.array(["urn:5"])
    own = entities.hashes[entities.ids(wanted)[0]]
    equal.hashes[:] = own
    assert equal.ids(wanted).tolist() == entities.ids(wanted).tolist()


def test_rows_of_a_part_are_those_of_all() -> None:
    world = World(1)
    active, train = Active.of(world.new), _SPLITTER.split(world.new, world.terms).train
    rows, triples = active.rows(train), RowTriples(train, active)
    chosen = np.array([5, 0, len(train) - 1, 5])
    assert np.array_equal(triples.take(chosen), rows[:, chosen])
    entities, relations = len(active.entities), len(active.relations)
    ends = np.bincount(rows[[0, 2]].reshape(-1), minlength=entities)
    assert np.array_equal(triples.degree, ends)
    assert np.array_equal(triples.uses, np.bincount(rows[1], minlength=relations))
    some = np.array([700, 3, 0])
    for side in (0, 2):
        assert np.array_equal(
            triples.with_ends(some, side), np.flatnonzero(np.isin(rows[side], some))
        )
    near = np.isin(rows[0], some) | np.isin(rows[2], some) | (rows[1] == 2)
    assert np.array_equal(triples.around(some, np.array([2])), np.flatnonzero(near))
    assert np.array_equal(triples.columns(rows[:, chosen]), chosen)
    assert triples.contains(rows).all()
    others = rows.copy()
    others[2] = (others[2] + 1) % entities
    known = set(map(tuple, rows.T.tolist()))
    assert triples.contains(others).tolist() == [tuple(each) in known for each in others.T.tolist()]


def test_shared_rows_are_those_of_equal_ids() -> None:
    old, new = np.array([0, 2, 3, 9], np.int32), np.array([2, 4, 9, 11], np.int32)
    here, there = shared_rows(old, new)
    assert old[here].tolist() == new[there].tolist() == [2, 9]
    assert [rows.tolist() for rows in shared_rows(old, old)] == [[0, 1, 2, 3]] * 2
    assert are_among(np.array([9, 1, 12]), old).tolist() == [True, False, False]
