"""False triples drawn by the kernels: never a training triple, both sides, every entity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.config import NegativeSampling
from kgsync.graph.active import TripleRows
from kgsync.graph.hashing import mix
from kgsync.training.cpu.drawing import (
    corruptions_of,
    draw_all,
    draw_into,
    hash_set,
    is_in,
)
from kgsync.training.samplers import dense_queries

triples = st.sets(
    st.tuples(st.integers(0, 8), st.integers(0, 2), st.integers(0, 8)), min_size=1, max_size=60
)


def as_rows(edges: set[tuple[int, int, int]]) -> TripleRows:
    return np.array(sorted(edges), np.int64).T


@settings(deadline=None)  # the first call compiles
@given(triples)
def test_the_set_holds_its_triples_and_no_others(edges: set[tuple[int, int, int]]) -> None:
    known = hash_set(as_rows(edges), 9, 3)
    for h in range(9):
        for r in range(3):
            for t in range(9):
                assert is_in(known, h, r, t) == ((h, r, t) in edges)


@settings(deadline=None)
@given(triples, st.integers(0, 2**63))
def test_a_drawn_triple_is_false_and_differs_in_one_entity(
    edges: set[tuple[int, int, int]], seed: int
) -> None:
    rows = as_rows(edges)
    known = corruptions_of(rows, 9, 3)
    drawn = draw_all(np.ascontiguousarray(rows.T, np.int32), known, np.uint64(seed))
    for true, false in zip(rows.T.tolist(), drawn.tolist(), strict=True):
        assert tuple(false) not in edges
        assert false[1] == true[1]
        assert (false[0] == true[0]) != (false[2] == true[2])


@pytest.mark.parametrize("cut", [1, 63, 64, 65, 128, 129])
def test_draws_are_the_same_in_whatever_batches(cut: int) -> None:
    full = {(h, 0, t) for h in range(12) for t in range(12)}  # has no false triple
    dense = {(0, 1, t) for t in range(11)} | {(h, 1, h) for h in range(12)}
    sparse = {(h, 2, (h * h + 3) % 12) for h in range(12)}
    edges = full | dense | sparse
    rows = np.random.default_rng(0).permutation(as_rows(edges).T).astype(np.int32)
    assert len(rows) > 129
    source, seed = corruptions_of(as_rows(edges), 12, 3), np.uint64(7)
    whole, parts = draw_all(rows, source, seed), np.empty_like(rows)
    draw_into(parts[:cut], rows[:cut], source, seed, 0)
    draw_into(parts[cut:], rows[cut:], source, seed, cut)
    assert (whole == parts).all()
    assert (whole[rows[:, 1] == 0][:, [0, 2]] == -1).all()
    changed = (whole != rows)[rows[:, 1] > 0]
    assert (changed[:, 0] != changed[:, 2]).all()
    assert not edges & set(map(tuple, whole.tolist()))


def test_a_triple_without_a_false_one_gets_none() -> None:
    full = {(h, 0, t) for h in range(3) for t in range(3)}
    rows = np.ascontiguousarray(as_rows(full).T, np.int32)
    drawn = draw_all(rows, corruptions_of(as_rows(full), 3, 1), np.uint64(0))
    assert (drawn[:, [0, 2]] == -1).all()


def test_the_only_false_triple_is_found() -> None:
    nearly = {(h, 0, t) for h in range(200) for t in range(200)} - {(3, 0, 5)}
    known = corruptions_of(as_rows(nearly), 200, 1)
    rows = np.array([[3, 0, 0], [0, 0, 5], [3, 0, 199]], np.int32)
    for seed in range(20):
        drawn = draw_all(rows, known, np.uint64(seed))
        assert (drawn == [3, 0, 5]).all()


def test_the_few_free_places_of_a_dense_query_are_drawn_alike() -> None:
    entities, free = 2_000, [10, 11, 12, 1_500]
    train = as_rows({(0, 0, e) for e in range(entities) if e not in free} | {(1, 0, 0)})
    rows = np.tile(np.array([[0, 0, 20]], np.int32), (40_000, 1))
    drawn = draw_all(rows, corruptions_of(train, entities, 1), np.uint64(1))
    tails = drawn[drawn[:, 0] == 0, 2]
    assert abs(len(tails) / len(rows) - 0.5) < 0.015
    counts = np.array([(tails == entity).sum() for entity in free])
    assert counts.sum() == len(tails)
    expected = len(tails) / len(free)
    assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()


@given(triples)
def test_dense_queries_are_those_that_most_entities_answer(
    edges: set[tuple[int, int, int]],
) -> None:
    entities, relations = 9, 3
    keys, bounds, free = dense_queries(as_rows(edges), entities, relations)
    assert (np.diff(keys) > 0).all()
    found = {
        int(key): free[first:end].tolist()
        for key, first, end in zip(keys, bounds, bounds[1:], strict=False)
    }
    for side in (0, 1):
        for relation in range(relations):
            for entity in range(entities):
                ends = [
                    other
                    for other in range(entities)
                    if ((entity, relation, other) if side else (other, relation, entity))
                    not in edges
                ]
                key = (side * relations + relation) * entities + entity
                assert found.get(key) == (ends if 2 * len(ends) < entities else None)


def test_both_sides_and_all_entities_are_drawn_alike() -> None:
    rows = np.tile(np.array([[0, 0, 1]], np.int32), (40_000, 1))
    drawn = draw_all(rows, corruptions_of(as_rows({(0, 0, 1)}), 20, 1), np.uint64(1))
    heads = drawn[drawn[:, 0] != 0]
    assert abs(len(heads) / len(rows) - 0.5) < 0.015
    counts = np.bincount(heads[:, 0], minlength=20)
    assert counts[0] == 0
    expected = len(heads) / 19
    assert (abs(counts[1:] - expected) < 6 * np.sqrt(expected)).all()


@pytest.mark.parametrize(("corruption", "share"), [("uniform", 1 / 2), ("bernoulli", 4 / 5)])
def test_heads_are_replaced_as_often_as_asked(corruption: NegativeSampling, share: float) -> None:
    train = as_rows({(0, 0, t) for t in range(1, 5)} | {(h, 1, 0) for h in range(1, 5)})
    known = corruptions_of(train, 30, 2, corruption)
    for relation, expected in ((0, share), (1, 1 - share)):
        true = [0, 0, 1] if relation == 0 else [1, 1, 0]
        rows = np.tile(np.array([true], np.int32), (40_000, 1))
        drawn = draw_all(rows, known, np.uint64(1))
        assert np.mean(drawn[:, 0] != true[0]) == pytest.approx(expected, abs=0.015)


def test_uniform_draws_choose_the_side_by_one_bit() -> None:
    rows = np.tile(np.array([[0, 0, 1]], np.int32), (1_000, 1))
    drawn = draw_all(rows, corruptions_of(as_rows({(0, 0, 1)}), 20, 1), np.uint64(7))
    states = mix(mix(np.uint64(7) ^ np.arange(1_000, dtype=np.uint64)))
    assert ((drawn[:, 0] == 0) == (states % np.uint64(2) == 0)).all()
