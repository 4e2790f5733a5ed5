"""Corrupted triples are false, corrected ones true, and all of them equally likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.config import NegativeSampling
from kgsync.training.samplers import CorrectedSampler, CorruptedSampler, head_shares
from tests.training.graphs import Triple, as_rows, as_triples

DRAWS = 20_000


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[int, int, list[Triple]]:
    """Numbers of entities and relations, and triples among them, up to all there can be."""
    entities, relations = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    row = st.integers(0, entities - 1)
    triple = st.tuples(row, st.integers(0, relations - 1), row)
    most = entities * entities * relations
    return entities, relations, draw(st.lists(triple, min_size=1, max_size=most, unique=True))


def _corruptions(triple: Triple, entities: int, train: Iterable[Triple]) -> set[Triple]:
    head, relation, tail = triple
    either = {(e, relation, tail) for e in range(entities)}
    either |= {(head, relation, e) for e in range(entities)}
    return either - set(train)


def _corrections(deleted: Triple, train: Iterable[Triple]) -> set[Triple]:
    head, relation, tail = deleted
    return {(h, r, t) for h, r, t in train if r == relation and (h == head or t == tail)}


def _chi_square(found: Counter[Triple], possible: Iterable[Triple]) -> float:
    """Distance of the counts from equal ones, by degree of freedom; about 1 if all is well."""
    expected_set = list(possible)
    assert set(found) <= set(expected_set)
    expected = found.total() / len(expected_set)
    deviations = sum((found[triple] - expected) ** 2 / expected for triple in expected_set)
    return deviations / (len(expected_set) - 1)


def _corrupted(
    triple: Triple, entities: int, train: list[Triple], count: int = DRAWS
) -> list[Triple]:
    sampler = CorruptedSampler(as_rows(train), entities, 1, np.random.default_rng(0))
    false, possible = sampler.draw(as_rows([triple] * count))
    assert possible.all()
    return as_triples(false)


@given(graph=_graphs(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=100)
def test_a_corrupted_triple_is_a_possible_one_wherever_there_is_any(
    graph: tuple[int, int, list[Triple]], seed: int
) -> None:
    entities, relations, train = graph
    sampler = CorruptedSampler(as_rows(train), entities, relations, np.random.default_rng(seed))
    false, possible = sampler.draw(as_rows(train))
    for true, drawn, found in zip(train, as_triples(false), possible.tolist(), strict=True):
        corruptions = _corruptions(true, entities, train)
        assert found is bool(corruptions)
        if found:
            assert drawn in corruptions
            assert (drawn[0] != true[0]) + (drawn[2] != true[2]) == 1


@given(graph=_graphs(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_drawing_leaves_the_triples_asked_for_alone(
    graph: tuple[int, int, list[Triple]], seed: int
) -> None:
    entities, relations, train = graph
    asked = as_rows(train)
    CorruptedSampler(asked, entities, relations, np.random.default_rng(seed)).draw(asked)
    CorrectedSampler(asked, relations, np.random.default_rng(seed)).draw(asked)
    assert as_triples(asked) == train


def test_heads_and_tails_are_corrupted_equally_often() -> None:
    drawn = _corrupted((0, 0, 1), 50, [(0, 0, 1)])
    heads = sum(head != 0 for head, _, _ in drawn)
    assert heads / DRAWS == pytest.approx(0.5, abs=0.02)


def test_sides_stay_balanced_where_one_side_is_nearly_full() -> None:
    """Rejected draws are repeated on their own side: a popular tail does not shift the balance."""
    train = [(0, 0, tail) for tail in range(1, 10)]  # of (0, 0, ?) only 0 is free
    drawn = _corrupted((0, 0, 1), 10, train)
    heads = sum(head != 0 for head, _, _ in drawn)
    assert heads / DRAWS == pytest.approx(0.5, abs=0.02)


def test_each_side_is_corrupted_by_every_entity_alike() -> None:
    train = [(0, 0, 1), (0, 0, 2), (5, 0, 1)]
    drawn = Counter(_corrupted((0, 0, 1), 12, train))
    heads = Counter({triple: n for triple, n in drawn.items() if triple[2] == 1})
    tails = Counter({triple: n for triple, n in drawn.items() if triple[0] == 0})
    assert heads.total() + tails.total() == DRAWS
    assert _chi_square(heads, [(h, 0, 1) for h in range(12) if h not in (0, 5)]) < 3
    assert _chi_square(tails, [(0, 0, t) for t in range(12) if t not in (1, 2)]) < 3


def test_the_few_free_places_of_a_dense_graph_are_found_and_used_alike() -> None:
    entities = 300  # so few are free that random tries alone would miss them
    free = {(0, 0, 7), (0, 0, 150), (0, 0, 299)}
    everything = [(0, 0, e) for e in range(entities)] + [(e, 0, 1) for e in range(1, entities)]
    train = [triple for triple in everything if triple not in free]
    drawn = Counter(_corrupted((0, 0, 1), entities, train, count=1500))
    assert _chi_square(drawn, free) < 6


def test_the_only_false_triple_left_is_drawn() -> None:
    entities = 30
    train = [(h, 0, t) for h in range(entities) for t in range(entities) if (h, t) != (3, 4)]
    assert set(_corrupted((3, 0, 5), entities, train, count=20)) == {(3, 0, 4)}
    assert set(_corrupted((9, 0, 4), entities, train, count=20)) == {(3, 0, 4)}


def test_a_complete_graph_has_no_corrupted_triples() -> None:
    train = as_rows([(h, 0, t) for h in range(3) for t in range(3)])
    sampler = CorruptedSampler(train, 3, 1, np.random.default_rng(0))
    _, possible = sampler.draw(train)
    assert possible.tolist() == [False] * 9


def test_every_draw_is_a_fresh_one() -> None:
    train = as_rows([(e, 0, e + 1) for e in range(50)])
    sampler = CorruptedSampler(train, 51, 1, np.random.default_rng(0))
    first, _ = sampler.draw(train)
    second, _ = sampler.draw(train)
    assert (first != second).any()


def test_no_triples_need_no_draws() -> None:
    train, none = as_rows([(0, 0, 1)]), as_rows([])
    random = np.random.default_rng(0)
    false, possible = CorruptedSampler(train, 2, 1, random).draw(none)
    assert (false.shape, possible.shape) == ((3, 0), (0,))
    assert CorrectedSampler(train, 1, random).draw(none).shape == (3, 0)


@given(graph=_graphs(), data=st.data())
@settings(deadline=None, max_examples=100)
def test_a_corrected_triple_is_true_and_shares_two_terms_wherever_one_does(
    graph: tuple[int, int, list[Triple]], data: st.DataObject
) -> None:
    entities, relations, train = graph
    row = st.integers(0, entities - 1)
    triple = st.tuples(row, st.integers(0, relations - 1), row)
    deleted = data.draw(
        st.lists(triple.filter(lambda t: t not in train), max_size=5, unique=True)
        if len(train) < entities * entities * relations
        else st.just([])
    )
    sampler = CorrectedSampler(as_rows(train), relations, np.random.default_rng(0))
    drawn = as_triples(sampler.draw(as_rows(deleted)))
    for gone, true in zip(deleted, drawn, strict=True):
        assert true in (_corrections(gone, train) or set(train))


def test_corrected_triples_are_uniform_over_both_sides_together() -> None:
    train = [(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 0, 4), (8, 0, 9), (0, 1, 9), (5, 0, 6)]
    deleted = (0, 0, 9)
    sampler = CorrectedSampler(as_rows(train), 2, np.random.default_rng(1))
    drawn = Counter(as_triples(sampler.draw(as_rows([deleted] * DRAWS))))
    # Four by the head, one by the tail: each has a fifth, not the lone one a half.
    assert len(_corrections(deleted, train)) == 5
    assert _chi_square(drawn, _corrections(deleted, train)) < 4


def test_a_self_loop_is_corrected_from_both_of_its_sides() -> None:
    train = [(0, 0, 1), (2, 0, 0), (3, 0, 4)]
    sampler = CorrectedSampler(as_rows(train), 1, np.random.default_rng(2))
    drawn = Counter(as_triples(sampler.draw(as_rows([(0, 0, 0)] * DRAWS))))
    assert _chi_square(drawn, [(0, 0, 1), (2, 0, 0)]) < 8


def test_a_deleted_triple_without_corrections_is_paired_with_any_training_triple() -> None:
    train = [(0, 0, 1), (1, 0, 2), (2, 1, 3), (3, 1, 0), (1, 1, 1)]
    deleted = (2, 0, 0)
    sampler = CorrectedSampler(as_rows(train), 2, np.random.default_rng(3))
    drawn = Counter(as_triples(sampler.draw(as_rows([deleted] * DRAWS))))
    assert not _corrections(deleted, train)
    assert _chi_square(drawn, train) < 4


def test_each_deleted_triple_gets_a_correction_of_its_own() -> None:
    train = [(0, 0, 1), (2, 0, 3), (4, 1, 5)]
    deleted = [(2, 0, 9), (0, 0, 8), (7, 1, 5)]
    sampler = CorrectedSampler(as_rows(train), 2, np.random.default_rng(4))
    drawn = as_triples(sampler.draw(as_rows(deleted)))
    assert drawn == [(2, 0, 3), (0, 0, 1), (4, 1, 5)]


def test_bernoulli_replaces_heads_by_how_many_tails_they_have() -> None:
    # Relation 0: one head with four tails; 1: the reverse; 2: two heads with three tails; 3: none.
    train = [(0, 0, t) for t in range(1, 5)] + [(h, 1, 0) for h in range(1, 5)]
    train += [(0, 2, 1), (0, 2, 2), (5, 2, 2), (5, 2, 3)]
    shares = head_shares(as_rows(train), 4, "bernoulli")
    assert shares.tolist() == pytest.approx([4 / 5, 1 / 5, 3 / 5, 1 / 2])
    assert head_shares(as_rows(train), 4).tolist() == [0.5] * 4


@pytest.mark.parametrize(("corruption", "share"), [("uniform", 1 / 2), ("bernoulli", 4 / 5)])
def test_heads_are_replaced_as_often_as_asked(corruption: NegativeSampling, share: float) -> None:
    train = as_rows([(0, 0, t) for t in range(1, 5)])
    sampler = CorruptedSampler(train, 30, 1, np.random.default_rng(0), corruption)
    false, possible = sampler.draw(as_rows([(0, 0, 1)] * DRAWS))
    assert possible.all()
    assert np.mean(false[0] != 0) == pytest.approx(share, abs=0.015)
