"""Triple classification against a brute force, and which false triples it draws."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kgsync.config import ModelSettings
from kgsync.errors import TrainingError, UndefinedMetricError
from kgsync.evaluation.classification import Classification, triple_classification
from kgsync.graph.active import TripleRows
from kgsync.models.base import Rows
from kgsync.models.transe import TransE

Triple = tuple[int, int, int]

SETTINGS = ModelSettings("transe", 1)


def _rows(triples: Iterable[Triple]) -> TripleRows:
    return np.array(list(triples), np.int64).reshape(-1, 3).T


def _model(entities: Iterable[float], relations: Iterable[float]) -> TransE:
    tables = {
        "entity": torch.tensor(list(entities), dtype=torch.float32)[:, None],
        "relation": torch.tensor(list(relations), dtype=torch.float32)[:, None],
    }
    return TransE(SETTINGS, tables)


def _classify(
    model: TransE,
    edges: Iterable[Triple],
    validation: Iterable[Triple],
    test: Iterable[Triple],
    seed: int = 0,
) -> Classification:
    random = np.random.default_rng(seed)
    return triple_classification(model, _rows(edges), _rows(validation), _rows(test), random)


def _best_threshold(true: list[float], false: list[float]) -> float:
    """The lowest of the best thresholds between whole numbers, tried one by one."""
    scores = sorted({*true, *false})
    middles = [(a + b) / 2 for a, b in pairwise(scores)]
    tried = [scores[0] - 0.5, *middles, scores[-1] + 0.5]

    def right(threshold: float) -> int:
        return sum(s > threshold for s in true) + sum(s <= threshold for s in false)

    return max(tried, key=right)


def _brute_force(
    score: dict[Triple, float], pairs: dict[str, list[tuple[Triple, Triple]]]
) -> float:
    """Accuracy of thresholds by relation, from pairs of a true and a false triple."""
    validation, test = pairs["validation"], pairs["test"]
    right = 0
    for true, false in test:
        own = [pair for pair in validation if pair[0][1] == true[1]] or validation
        limit = _best_threshold([score[t] for t, _ in own], [score[f] for _, f in own])
        right += (score[true] > limit) + (score[false] <= limit)
    return right / (2 * len(test))


@st.composite
def _worlds(draw: st.DrawFn) -> tuple[dict[int, tuple[int, int]], list[Triple], list[Triple], int]:
    """Two tails for each relation, so that a head with one of them has one false triple only."""
    relations = draw(st.integers(1, 3))
    tails = {r: (10 + 2 * r, 11 + 2 * r) for r in range(relations)}
    linked = st.tuples(st.integers(0, 9), st.integers(0, relations - 1), st.integers(0, 1))
    chosen = draw(st.lists(linked, min_size=2, max_size=25, unique_by=lambda x: x[:2]))
    both_seen = [(99, r, t) for r, ends in tails.items() for t in ends]
    edges = [(h, r, tails[r][side]) for h, r, side in chosen]
    cut = draw(st.integers(1, len(edges) - 1))
    return tails, [*edges, *both_seen], edges[:cut], draw(st.integers(0, 2**32 - 1))


@given(world=_worlds())
@settings(deadline=None, max_examples=150)
def test_accuracy_is_that_of_the_best_thresholds(
    world: tuple[dict[int, tuple[int, int]], list[Triple], list[Triple], int],
) -> None:
    tails, edges, validation, seed = world
    random = np.random.default_rng(seed)
    # Whole numbers, so that scores tie often.
    model = _model(random.integers(-3, 4, 100).tolist(), random.integers(-1, 2, 3).tolist())
    test = [edge for edge in edges if edge not in validation and edge[0] != 99]
    entity, relation = model.tables["entity"].flatten(), model.tables["relation"].flatten()

    def other(triple: Triple) -> Triple:
        head, r, tail = triple
        return head, r, sum(tails[r]) - tail

    pairs = {
        "validation": [(triple, other(triple)) for triple in validation],
        "test": [(triple, other(triple)) for triple in test],
    }
    score = {
        (h, r, t): -abs(float(entity[h] + relation[r] - entity[t]))
        for part in pairs.values()
        for pair in part
        for h, r, t in pair
    }
    found = _classify(model, edges, validation, test, seed)
    assert found.accuracy == pytest.approx(_brute_force(score, pairs))
    assert (found.triples, found.left_out) == (len(test), 0)


def test_each_relation_has_a_threshold_of_its_own() -> None:
    # Relation 0 tells true (0) from false (-1), relation 1 true (-10) from false (-20).
    model = _model([0.0, 0.0, 1.0, 10.0, 20.0, 0.0], [0.0, 0.0])
    edges = [(0, 0, 1), (5, 0, 1), (0, 1, 3), (5, 1, 3), (1, 0, 2), (1, 1, 4)]
    found = _classify(model, edges, edges[::2][:2], [edges[1], edges[3]])
    assert found == Classification(1.0, 2, 0)


def test_a_relation_without_validation_triples_takes_the_global_threshold() -> None:
    # Validated on relation 0 alone, whose threshold is -0.5: relation 1 scores -10 and -20.
    model = _model([0.0, 0.0, 1.0, 10.0, 20.0, 0.0], [0.0, 0.0])
    edges = [(0, 0, 1), (1, 0, 2), (5, 1, 3), (1, 1, 4)]
    found = _classify(model, edges, edges[:1], [(5, 1, 3)])
    assert found == Classification(0.5, 1, 0)  # both called false


def test_a_triple_without_a_false_counterpart_is_left_out() -> None:
    model = _model([0.0, 0.0, 1.0, 5.0], [0.0, 0.0])
    edges = [(0, 0, 1), (3, 0, 1), (3, 0, 2), (3, 1, 2)]
    # Head 3 has both tails of relation 0, and relation 1 has one tail only.
    found = _classify(model, edges, [(0, 0, 1), (3, 0, 2)], [(0, 0, 1), (3, 0, 1), (3, 1, 2)])
    assert found == Classification(1.0, 1, 2)


def test_nothing_to_choose_on_or_to_classify_has_no_accuracy() -> None:
    model = _model([0.0, 0.0, 1.0], [0.0])
    edges: list[Triple] = [(0, 0, 1), (1, 0, 2), (2, 0, 1), (2, 0, 2)]
    good, hopeless = [(0, 0, 1)], [(2, 0, 1)]
    assert _classify(model, edges, good, good).triples == 1
    for validation, test in (([], good), (good, []), (hopeless, good), (good, hopeless)):
        with pytest.raises(UndefinedMetricError):
            _classify(model, edges, validation, test)


class _Recording(TransE):
    """Notes the tails it scores; the vector of an entity is its row."""

    def __init__(self, settings: ModelSettings, tables: Rows) -> None:
        super().__init__(settings, tables)
        self.tails: list[list[int]] = []

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        self.tails.append([int(x) for x in tail["entity"].flatten()])
        return super().score(head, relation, tail)


def _recording(entities: int, relations: int) -> _Recording:
    tables = {
        "entity": torch.arange(entities, dtype=torch.float32)[:, None],
        "relation": torch.zeros(relations, 1),
    }
    return _Recording(SETTINGS, tables)


@given(
    edges=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 7)),
        min_size=4,
        max_size=60,
        unique=True,
    ),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=150)
def test_false_tails_are_seen_with_the_relation_and_are_no_edges(
    edges: list[Triple], seed: int
) -> None:
    model = _recording(8, 3)
    possible = {
        (h, r, t): {end for _, p, end in edges if p == r and (h, r, end) not in edges}
        for h, r, t in edges
    }
    half = len(edges) // 2
    parts = edges[:half], edges[half:]
    asked = [[triple for triple in part if possible[triple]] for part in parts]
    if not all(asked):
        return
    found = _classify(model, edges, *parts, seed)
    assert (found.triples, found.left_out) == (len(asked[1]), len(parts[1]) - len(asked[1]))
    assert len(model.tails) == 4
    for part, true, false in zip(asked, model.tails[::2], model.tails[1::2], strict=True):
        assert true == [tail for _, _, tail in part]
        for triple, tail in zip(part, false, strict=True):
            assert tail in possible[triple]


def test_every_possible_false_tail_is_drawn_alike() -> None:
    entities = 60
    edges = [(e, 0, e % 12) for e in range(12, entities)] + [(0, 0, 3), (0, 0, 4)]
    drawn: Counter[int] = Counter()
    for seed in range(40):
        model = _recording(entities, 1)
        _classify(model, edges, edges[:1], [(0, 0, 3)] * 50, seed)
        drawn.update(model.tails[3])
    expected = [tail for tail in range(12) if tail not in (3, 4)]
    assert set(drawn) == set(expected)
    share = drawn.total() / len(expected)
    assert sum((drawn[tail] - share) ** 2 / share for tail in expected) < 30


def test_the_only_false_tail_of_a_dense_head_is_found() -> None:
    entities = 400
    edges = [(0, 0, t) for t in range(entities) if t != 123] + [(1, 0, 123), (1, 0, 5)]
    model = _recording(entities, 1)
    found = _classify(model, edges, edges[:1], [(0, 0, 7), (0, 0, 300)])
    assert found.left_out == 0
    assert model.tails[1] == [123]
    assert model.tails[3] == [123, 123]


def test_the_same_random_numbers_give_the_same_accuracy() -> None:
    random = np.random.default_rng(1)
    model = _model(random.normal(size=30).tolist(), random.normal(size=2).tolist())
    edges = sorted({(int(h), int(h) % 2, int(t)) for h, t in random.integers(0, 30, (150, 2))})
    first, again, *others = (
        _classify(model, edges, edges[::3], edges[1::3], seed).accuracy for seed in (0, 0, 1, 2, 3)
    )
    assert first == again
    assert any(other != first for other in others)


@pytest.mark.parametrize("row", [0, 2])
def test_a_nan_score_is_an_error(row: int) -> None:
    model = _model([0.0, 0.0, 1.0], [0.0])
    model.tables["entity"][row] = math.nan
    edges: list[Triple] = [(0, 0, 1), (1, 0, 2)]
    with pytest.raises(TrainingError, match="NaN"):
        _classify(model, edges, edges[:1], edges[:1])
