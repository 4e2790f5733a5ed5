"""Filtered link prediction against a plain ranking, and its corner cases."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kgsync.config import ModelSettings
from kgsync.errors import TrainingError, UndefinedMetricError
from kgsync.evaluation.ranking import HITS, KnownTriples, Side, link_prediction, ranks
from kgsync.graph.active import TripleRows
from kgsync.models import MODELS, model_class
from kgsync.models.base import Kind, Model, Rows
from kgsync.models.transe import TransE
from tests.evaluation.memory import Largest
from tests.models.cases import EVERY_CASE, ModelCase, of_files, vectors

Triple = tuple[int, int, int]
Table = list[list[int]]

both_sides = pytest.mark.parametrize("side", ["head", "tail"])
every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)


def _rows(triples: list[Triple]) -> TripleRows:
    return np.array(triples, np.int64).reshape(-1, 3).T


def _model(chosen: ModelSettings, entity: Table, relation: Table) -> Model:
    tables = {
        "entity": torch.tensor(entity, dtype=torch.float32),
        "relation": torch.tensor(relation, dtype=torch.float32),
    }
    return model_class(chosen.name)(chosen, tables)


Whole = dict[str, list[int]]
"""The vectors of one element, by table name, in whole numbers."""

# Scores in whole numbers that order triples as the model does, so that ties are beyond doubt.


def _whole_l1(gap: list[int]) -> int:
    return -sum(abs(x) for x in gap)


def _whole_l2(gap: list[int]) -> int:
    return -sum(x * x for x in gap)


def _whole_transe(h: Whole, r: Whole, t: Whole) -> list[int]:
    columns = zip(h["entity"], r["relation"], t["entity"], strict=True)
    return [a + b - c for a, b, c in columns]


def _whole_transh(h: Whole, r: Whole, t: Whole) -> list[int]:
    """A normal along the first axis or along the second."""
    flat = 0 if r["normal"][0] else 1
    gap = _whole_transe(h, r, t)
    gap[flat] = r["relation"][flat]
    return gap


def _whole_transd(h: Whole, r: Whole, t: Whole) -> list[int]:
    """In a space of one dimension all that is left of a projection is its sign."""

    def sign(e: Whole) -> int:
        along = sum(a * b for a, b in zip(e["entity"], e["entity_projection"], strict=True))
        return int(np.sign(along * r["relation_projection"][0] + e["entity"][0]))

    return [sign(h) + r["relation"][0] - sign(t)]


def _whole_distmult(h: Whole, r: Whole, t: Whole) -> int:
    columns = zip(h["entity"], r["relation"], t["entity"], strict=True)
    return sum(a * b * c for a, b, c in columns)


def _whole_rescal(h: Whole, r: Whole, t: Whole) -> int:
    (a, b), (c, d) = h["entity"], t["entity"]
    m = r["relation"]
    return a * m[0] * c + a * m[1] * d + b * m[2] * c + b * m[3] * d


def _whole_complex(h: Whole, r: Whole, t: Whole) -> int:
    (a, b), (c, d), (e, f) = h["entity"], r["relation"], t["entity"]
    return int((complex(a, b) * complex(c, d) * complex(e, -f)).real)


def _whole_analogy(h: Whole, r: Whole, t: Whole) -> int:
    parts = [({"entity": e["entity"][:2]}, {"entity": e["entity"][2:]}) for e in (h, t)]
    scalars, pairs = {"relation": r["relation"][:2]}, {"relation": r["relation"][2:]}
    (h1, h2), (t1, t2) = parts
    return _whole_distmult(h1, scalars, t1) + _whole_complex(h2, pairs, t2)


WHOLE: list[tuple[ModelSettings, Callable[[Whole, Whole, Whole], int]]] = [
    (ModelSettings("transe", 2, norm="l1"), lambda *e: _whole_l1(_whole_transe(*e))),
    (ModelSettings("transe", 2, norm="l2"), lambda *e: _whole_l2(_whole_transe(*e))),
    (ModelSettings("transe", 2, norm="l2sq"), lambda *e: _whole_l2(_whole_transe(*e))),
    (ModelSettings("transh", 2, norm="l1"), lambda *e: _whole_l1(_whole_transh(*e))),
    (ModelSettings("transh", 2, norm="l2sq"), lambda *e: _whole_l2(_whole_transh(*e))),
    (ModelSettings("transd", 1, norm="l1"), lambda *e: _whole_l1(_whole_transd(*e))),
    (ModelSettings("transd", 2, 1, norm="l2"), lambda *e: _whole_l2(_whole_transd(*e))),
    (ModelSettings("distmult", 2), _whole_distmult),
    (ModelSettings("rescal", 2), _whole_rescal),
    (ModelSettings("analogy", 4), _whole_analogy),
    (ModelSettings("complex", 2), _whole_complex),
    *of_files("WHOLE"),
]


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[int, int, list[Triple], list[Triple]]:
    """Numbers of entities and relations, the true triples, and those of them to rank."""
    entities, relations = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    row = st.integers(0, entities - 1)
    triple = st.tuples(row, st.integers(0, relations - 1), row)
    true = draw(st.lists(triple, min_size=1, max_size=15, unique=True))
    ranked = draw(st.lists(st.sampled_from(true), min_size=1, unique=True))
    return entities, relations, true, ranked


def _whole_tables(chosen: ModelSettings, entities: int, relations: int, seed: int) -> Rows:
    random = np.random.default_rng(seed)
    tables = {}
    for name, spec in model_class(chosen.name).layout(chosen).items():
        count = entities if spec.kind == "entity" else relations
        numbers = random.integers(-2, 3, (count, spec.width))
        if spec.unit:
            numbers = 3 * np.eye(spec.width, dtype=int)[random.integers(0, spec.width, count)]
        tables[name] = torch.from_numpy(numbers.astype(np.float32))
    return tables


def _whole(model: Model, kind: Kind, row: int) -> Whole:
    return {name: [int(x) for x in model.tables[name][row]] for name in model.names(kind)}


@both_sides
@pytest.mark.parametrize("chosen", range(len(WHOLE)))
@settings(deadline=None, max_examples=40)
@given(graph=_graphs(), seed=st.integers(0, 2**32 - 1))
def test_ranks_are_those_of_a_plain_filtered_ranking(
    side: Side, chosen: int, graph: tuple[int, int, list[Triple], list[Triple]], seed: int
) -> None:
    entities, relations, true, ranked = graph
    options, score = WHOLE[chosen]
    tables = _whole_tables(options, entities, relations, seed)
    model = model_class(options.name)(options, tables)

    def scored(triple: Triple) -> int:
        head, relation, tail = triple
        ends = _whole(model, "entity", head), _whole(model, "entity", tail)
        return score(ends[0], _whole(model, "relation", relation), ends[1])

    def expected(triple: Triple) -> float:
        head, r, tail = triple
        best = worst = 1
        own = scored(triple)
        for candidate in range(entities):
            rival = (head, r, candidate) if side == "tail" else (candidate, r, tail)
            if rival in true:
                continue
            other = scored(rival)
            best += other > own
            worst += other >= own
        return (best + worst) / 2

    known = KnownTriples(_rows(true))
    found = ranks(model, _rows(ranked), known, side, memory_mb=1)
    assert found.tolist() == [expected(triple) for triple in ranked]


@both_sides
@given(graph=_graphs())
@settings(deadline=None)
def test_known_answers_are_those_of_the_true_triples(
    side: Side, graph: tuple[int, int, list[Triple], list[Triple]]
) -> None:
    entities, relations, true, _ = graph
    queries = [(e, r) for e in range(entities) for r in range(relations)]
    asked, asked_relations = np.array(queries, np.int64).T
    answers = KnownTriples(_rows(true)).find(side, asked, asked_relations)
    pairs = answers.numbers(asked, asked_relations)
    found = [
        (*query, int(answer))
        for query, pair in zip(queries, pairs, strict=True)
        for answer in answers.entities[answers.start[pair] : answers.start[pair + 1]]
    ]
    expected = true if side == "tail" else [(t, r, h) for h, r, t in true]
    assert sorted(found) == sorted(expected)


def _whole_number_model(case: ModelCase, entities: int, relations: int) -> Model:
    random = np.random.default_rng(3)
    model = case.random(entities, relations)
    tables = {
        name: torch.from_numpy(random.integers(-3, 4, tuple(table.shape)).astype(np.float32))
        for name, table in model.tables.items()
    }
    return type(model)(model.settings, tables)


def _random_triples(entities: int, relations: int, count: int) -> TripleRows:
    random = np.random.default_rng(4)
    rows = np.stack([random.integers(0, n, count) for n in (entities, relations, entities)])
    return np.unique(rows, axis=1)


@both_sides
@every_model
def test_ranks_do_not_depend_on_the_memory_allowed(case: ModelCase, side: Side) -> None:
    entities = 5000  # 52 queries a block within 1 MB, all of them within 64 MB
    model = _whole_number_model(case, entities, 3)
    triples = _random_triples(entities, 3, 100)
    known = KnownTriples(triples)
    small, large = (ranks(model, triples, known, side, memory_mb) for memory_mb in (1, 64))
    np.testing.assert_array_equal(small, large)


def _bounds(
    case: ModelCase, model: Model, triple: Triple, side: Side, filtered: set[Triple]
) -> tuple[float, float]:
    """Where the rank is in double precision; rivals that nearly tie may stand on either side.

    Rivals with the very vectors of the true entity tie for certain.
    """
    head, relation, tail = triple
    entities = [vectors(model.rows("entity", slice(None)), i) for i in range(model.sizes["entity"])]
    between = vectors(model.rows("relation", slice(None)), relation)

    def scored(candidate: int) -> float:
        h, t = (head, candidate) if side == "tail" else (candidate, tail)
        return case.score(entities[h], between, entities[t])

    true = tail if side == "tail" else head
    own = scored(true)
    low = high = 1.0
    for rival in range(len(entities)):
        if ((head, relation, rival) if side == "tail" else (rival, relation, tail)) in filtered:
            continue
        if all(np.array_equal(entities[rival][name], entities[true][name]) for name in entities[0]):
            low, high = low + 0.5, high + 0.5
            continue
        gap = scored(rival) - own
        low += gap > 1e-4 * (1 + abs(own))
        high += gap > -1e-4 * (1 + abs(own))
    return low, high


@both_sides
@every_model
@pytest.mark.parametrize(("entities", "memory_mb"), [(1, 1), (2, 1), (300, 1), (600, 64)])
def test_ranks_are_those_of_double_precision(
    case: ModelCase, side: Side, entities: int, memory_mb: int
) -> None:
    options = replace(case.settings, dimension=20)
    generator = torch.Generator().manual_seed(7)
    model = model_class(options.name).random(options, entities, 5, generator)
    for table in model.tables.values():
        table.normal_(generator=generator)
    twins = torch.arange(0, entities, 9)
    for name in model.names("entity"):
        model.tables[name][twins] = model.tables[name][0].clone()
    true = _random_triples(entities, 5, 40)
    known = set(zip(*true.tolist(), strict=True))
    ranked = true[:, ::5]
    ranked[[0, 2], 0] = 0  # one of many with its vectors
    known.add((0, int(ranked[1, 0]), 0))
    found = ranks(model, ranked, KnownTriples(_rows(sorted(known))), side, memory_mb)
    for triple, rank in zip(zip(*ranked.tolist(), strict=True), found, strict=True):
        low, high = _bounds(case, model, triple, side, known)
        assert low <= rank <= high
        assert high - low <= 0.01 * entities


@both_sides
@every_model
def test_the_rank_of_a_triple_does_not_depend_on_what_else_is_ranked(
    case: ModelCase, side: Side
) -> None:
    """More triples than fit a block, and relations of very different numbers of them."""
    model = case.random(40, 6, dtype=torch.float32)
    triples = _random_triples(40, 6, 600)
    triples = triples[:, (triples[1] > 1) | (triples[0] == 3)]
    assert triples.shape[1] > 256
    known = KnownTriples(triples)
    found = ranks(model, triples, known, side, memory_mb=1)
    for at in range(0, triples.shape[1], 29):
        assert ranks(model, triples[:, at : at + 1], known, side, memory_mb=1) == found[at]


@both_sides
def test_the_relations_of_a_small_graph_are_not_gathered_for_all_triples_at_once(
    side: Side,
) -> None:
    options = ModelSettings("rescal", 20)
    model = model_class("rescal").random(options, 50, 3, torch.Generator().manual_seed(0))
    triples = _random_triples(50, 3, 3000)
    with Largest() as largest:
        ranks(model, triples, KnownTriples(triples), side, memory_mb=64)
    assert largest.bytes <= 256 * 20**2 * 4


@both_sides
def test_a_block_of_scores_stays_within_the_memory_allowed(side: Side) -> None:
    blocks: list[int] = []

    class Recording(TransE):
        def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Tensor:
            scores = super().score_tails(head, relation, candidates)
            blocks.append(scores.nbytes)
            return scores

        def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Tensor:
            scores = super().score_heads(tail, relation, candidates)
            blocks.append(scores.nbytes)
            return scores

    options = ModelSettings(name="transe", dimension=2)
    model = Recording.random(options, 5000, 3, torch.Generator().manual_seed(0))
    triples = _random_triples(5000, 3, 100)
    ranks(model, triples, KnownTriples(triples), side, memory_mb=1)
    assert max(blocks) <= 2**20
    assert sum(blocks) == 4 * 5000 * triples.shape[1]


def test_more_entities_than_fit_the_memory_are_ranked_one_query_at_a_time() -> None:
    options = ModelSettings(name="transe", dimension=1)
    entities = 200_000  # a row of scores takes more than the 1 MB allowed
    model = _model(options, [[0], [1]], [[1]])
    model.tables["entity"] = torch.arange(entities, dtype=torch.float32)[:, None]
    triples = _rows([(0, 0, 1), (5, 0, 8)])
    known = KnownTriples(triples)
    found = ranks(model, triples, known, "tail", memory_mb=1)
    # 5 + 1 = 6; 6, 5 and 7 are nearer than 8, and 4 is as near.
    assert found.tolist() == [1.0, 4.5]


@both_sides
@every_model
@pytest.mark.parametrize(("queries", "entities"), [(3, 33), (17, 5), (40, 400)])
def test_entities_with_equal_vectors_tie(
    case: ModelCase, side: Side, queries: int, entities: int
) -> None:
    """All new entities may start from one vector: none may win by its place in the table."""
    options = replace(case.settings, dimension=case.dimension)
    model = model_class(options.name).random(options, entities, 2, torch.Generator().manual_seed(5))
    for name in model.names("entity"):
        model.tables[name][:] = model.tables[name][0].clone()
    random = np.random.default_rng(6)
    triples = _rows([(i % entities, i % 2, int(random.integers(entities))) for i in range(queries)])
    known = KnownTriples(triples)
    found = ranks(model, triples, known, side, memory_mb=16)
    given_, answer = (0, 2) if side == "tail" else (2, 0)
    for at in range(queries):
        same_query = (triples[given_] == triples[given_, at]) & (triples[1] == triples[1, at])
        filtered = len(np.unique(triples[answer, same_query]))
        assert found[at] == 1 + (entities - filtered) / 2


def test_other_true_answers_do_not_push_a_triple_down() -> None:
    # Of head 0, the entities 1, 2, 3 are ever farther tails.
    model = _model(ModelSettings(name="transe", dimension=1), [[0], [1], [2], [3]], [[1]])
    asked = _rows([(0, 0, 3)])
    alone = ranks(model, asked, KnownTriples(asked), "tail", 1)
    beside = ranks(model, asked, KnownTriples(_rows([(0, 0, 1), (0, 0, 3)])), "tail", 1)
    # Rivals are 0 (distance 1), 1 (0) and 2 (1); the true one is at distance 2.
    assert alone.tolist() == [4.0]
    assert beside.tolist() == [3.0]


@both_sides
@every_model
def test_a_nan_score_is_an_error(case: ModelCase, side: Side) -> None:
    model = _whole_number_model(case, 5, 2)
    model.tables["entity"][4, 0] = math.nan
    triples = _rows([(0, 0, 1)])
    with pytest.raises(TrainingError, match="NaN"):
        ranks(model, triples, KnownTriples(triples), side, memory_mb=1)


def test_a_nan_score_of_a_filtered_answer_is_an_error_too() -> None:
    model = _model(ModelSettings(name="transe", dimension=1), [[0], [1], [2]], [[1]])
    model.tables["entity"][2, 0] = math.nan
    true = _rows([(0, 0, 1), (0, 0, 2)])
    with pytest.raises(TrainingError):
        link_prediction(model, true[:, :1], KnownTriples(true), 1, sampled_from=2)


def test_a_score_of_minus_infinity_ties_with_no_filtered_answer() -> None:
    model = _model(ModelSettings(name="distmult", dimension=1), [[1], [0], [0], [0]], [[1]])
    # In single precision 1e30 · 1e30 overflows: entity 1 is the worst tail of entity 0.
    model.tables["entity"] = torch.tensor([[1e30], [-1e30], [0.0], [1.0]])
    true = _rows([(0, 0, 1), (0, 0, 2)])
    found = ranks(model, true[:, :1], KnownTriples(true), "tail", 1)
    # Entities 0 and 3 are better, entity 2 is filtered out.
    assert found.tolist() == [3.0]


def test_nothing_to_rank_has_no_quality() -> None:
    model = _model(ModelSettings(name="transe", dimension=1), [[0], [1]], [[1]])
    with pytest.raises(UndefinedMetricError):
        link_prediction(model, _rows([]), KnownTriples(_rows([(0, 0, 1)])), 1, sampled_from=0)


def _line(entities: int) -> Model:
    """Entities at 0, 1, 2, ... on a line, and a relation that moves nowhere."""
    options = ModelSettings(name="transe", dimension=1)
    return _model(options, [[i] for i in range(entities)], [[0]])


def test_metrics_summarise_the_ranks_of_both_sides() -> None:
    model = _line(300)
    triples = _rows([(0, 0, 4), (0, 0, 250)])
    known = KnownTriples(triples)
    # Tails of 0 by distance: 0, 1, 2, 3, then 4; 250 loses one place less by the filter.
    # Heads of 4: 4, {3, 5}, {2, 6}, {1, 7}, then 0 and 8 tie. Heads of 250: 250, 49 pairs up
    # to {201, 299}, then 200, ..., 1 one by one, then 0.
    by_side = {"tail": [5.0, 250.0], "head": [8.5, 1.0 + 2 * 49 + 200 + 1]}
    for side in ("head", "tail"):
        assert ranks(model, triples, known, side, 1).tolist() == by_side[side]
    quality = link_prediction(model, triples, known, 1, sampled_from=2)
    all_ranks = [*by_side["head"], *by_side["tail"]]
    assert quality.mr == pytest.approx(sum(all_ranks) / 4)
    assert quality.mrr == pytest.approx(sum(1 / rank for rank in all_ranks) / 4)
    assert quality.hits == {1: 0.0, 3: 0.0, 10: 0.5, 100: 0.5}
    assert (quality.triples, quality.sampled_from) == (2, 2)


def test_a_perfect_model_has_perfect_quality() -> None:
    model = _model(ModelSettings(name="transe", dimension=1), [[0], [1], [2], [3]], [[1]])
    triples = _rows([(0, 0, 1), (1, 0, 2), (2, 0, 3)])
    quality = link_prediction(model, triples, KnownTriples(triples), 1, sampled_from=3)
    assert (quality.mr, quality.mrr) == (1.0, 1.0)
    assert quality.hits == dict.fromkeys(HITS, 1.0)


def test_the_error_of_a_sample_is_the_standard_error_over_its_triples() -> None:
    model = _line(20)
    triples = _rows([(0, 0, 4), (3, 0, 3), (10, 0, 19)])
    known = KnownTriples(triples)
    sides = [ranks(model, triples, known, side, 1) for side in ("head", "tail")]
    reciprocal = [(1 / head + 1 / tail) / 2 for head, tail in zip(*sides, strict=True)]
    quality = link_prediction(model, triples, known, 1, sampled_from=50)
    expected = statistics.stdev(reciprocal) / math.sqrt(3)
    assert expected > 0
    assert quality.mrr_error == pytest.approx(expected)
    assert quality.mrr == pytest.approx(statistics.mean(reciprocal))
    assert (quality.triples, quality.sampled_from) == (3, 50)


def test_there_is_no_sampling_error_if_all_triples_were_ranked() -> None:
    triples = _rows([(0, 0, 4), (3, 0, 3), (10, 0, 19)])
    quality = link_prediction(_line(20), triples, KnownTriples(triples), 1, sampled_from=3)
    assert quality.mrr_error == 0.0


def test_quality_as_plain_values_names_every_measure() -> None:
    triples = _rows([(0, 0, 4)])
    quality = link_prediction(_line(20), triples, KnownTriples(triples), 1, sampled_from=1)
    hits = {f"hits@{k}": quality.hits[k] for k in (1, 3, 10, 100)}
    rest = {"mr": quality.mr, "mrr": quality.mrr, "mrr_error": 0.0, "hits@10_error": 0.0}
    assert quality.to_json() == {**rest, **hits, "triples": 1, "sampled_from": 1}


def test_the_whole_number_scores_cover_every_model() -> None:
    assert {s.name for s, _ in WHOLE} == set(MODELS)
