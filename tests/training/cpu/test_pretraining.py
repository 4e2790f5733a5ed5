"""Start vectors by the kernels and by torch: the same draws, the same vectors, the same cost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.common.cost import Cost
from kgsync.models.base import Kind, Model
from kgsync.training.cpu.pretraining import CpuPretrainer
from kgsync.training.initial.evidence import KeyedNegatives
from kgsync.training.torch_backend.pretraining import Pretrainer, PretrainingRates
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Triple
from tests.training.newcomers import evidence, for_model

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)
both_kinds = pytest.mark.parametrize("kind", ["entity", "relation"])

ENTITIES, RELATIONS, OLD = 40, 6, 30  # entities 30 to 39 and relations 4 and 5 are new
RATES = PretrainingRates(epochs=15, negatives=2, learning_rate=0.05)


def newcomers(kind: Kind, seed: int = 0) -> dict[int, list[Triple]]:
    """New elements with one to ten triples of old ones."""
    random = np.random.default_rng(seed)

    def triple(row: int) -> Triple:
        (a, b), r = random.integers(0, OLD, 2).tolist(), int(random.integers(0, 4))
        if kind == "relation":
            return a, row, b
        return (row, r, a) if random.random() < 0.5 else (a, r, row)

    rows = range(OLD, ENTITIES) if kind == "entity" else range(4, RELATIONS)
    return {row: sorted({triple(row) for _ in range(random.integers(1, 11))}) for row in rows}


def twins(case: ModelCase) -> tuple[Model, Model]:
    """The same model twice; vectors long enough that some margins are kept."""
    models = []
    for _ in range(2):
        model = case.random(ENTITIES, RELATIONS, dtype=torch.float32)
        for table in model.tables.values():
            table.mul_(3)
        models.append(model)
    return models[0], models[1]


def flat(triples: Mapping[int, Sequence[Triple]]) -> list[Triple]:
    return [triple for some in triples.values() for triple in some]


def assert_same_training(
    case: ModelCase,
    kind: Kind,
    triples: Mapping[int, Sequence[Triple]],
    draws: KeyedNegatives,
    rates: PretrainingRates = RATES,
) -> None:
    slow, fast = twins(case)
    slow_cost, fast_cost = Cost(), Cost()
    Pretrainer(slow, draws, rates, slow_cost).train(evidence(kind, triples))
    CpuPretrainer(fast, draws, rates, fast_cost).train(evidence(kind, triples))
    for name, table in slow.tables.items():
        torch.testing.assert_close(fast.tables[name], table, rtol=1e-4, atol=1e-4)
    assert fast_cost == slow_cost


@both_kinds
@every_model
@pytest.mark.parametrize("negatives", [1, 3])
def test_both_backends_train_alike(case: ModelCase, kind: Kind, negatives: int) -> None:
    model, _ = twins(case)
    triples = newcomers(kind)
    draws = for_model(model, flat(triples), range(OLD), seed=3)
    rates = replace(RATES, negatives=negatives)
    assert_same_training(case, kind, triples, draws, rates)


@both_kinds
@every_model
def test_other_margins_and_rates_are_heeded(case: ModelCase, kind: Kind) -> None:
    case = replace(case, settings=replace(case.settings, margin=4.0))
    model, _ = twins(case)
    triples = newcomers(kind, 1)
    draws = for_model(model, flat(triples), range(OLD))
    assert_same_training(case, kind, triples, draws, PretrainingRates(40, 1, 0.01))


@both_kinds
@every_model
def test_where_few_or_no_triples_are_false_both_backends_train_alike(
    case: ModelCase, kind: Kind
) -> None:
    """Nearly all triples are true: draws fail, are looked for, and sometimes there are none."""
    model, _ = twins(case)
    everything = {
        (h, r, t) for h in range(ENTITIES) for r in range(RELATIONS) for t in range(ENTITIES)
    }
    open_ = {(3, 0, 31), (31, 1, 5), (0, 4, 9), (9, 4, 0), (8, 5, 8), (9, 4, 1)}
    triples = newcomers(kind, 2)
    train = sorted(everything - open_ | set(flat(triples)))
    assert_same_training(case, kind, triples, for_model(model, train, range(OLD)))
    assert_same_training(case, kind, triples, for_model(model, train, []))


@both_kinds
@given(
    train=st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 1), st.integers(0, 11)), max_size=150
    ),
    survivors=st.lists(st.integers(0, 9), unique=True).map(sorted),
    negatives=st.integers(1, 3),
    seed=st.integers(0, 2**63 - 1),
)
@settings(deadline=None, max_examples=60)
def test_draws_are_the_same_on_sparse_and_dense_graphs(
    kind: Kind, train: list[Triple], survivors: list[int], negatives: int, seed: int
) -> None:
    """A model of one number per vector tells the draws apart."""
    case = next(case for case in CASES if case.settings.name == "distmult")
    case = replace(case, settings=replace(case.settings, dimension=1))
    triples: dict[int, list[Triple]]
    if kind == "entity":
        triples = {10: [(10, 0, 1), (2, 1, 10), (3, 1, 10)], 11: [(11, 0, 4)]}
    else:
        triples = {0: [(0, 0, 1), (2, 0, 3), (10, 0, 4)], 1: [(5, 1, 5)]}
    models = [case.random(12, 2, dtype=torch.float32) for _ in range(2)]
    draws = for_model(models[0], [*train, *flat(triples)], survivors, seed)
    rates = PretrainingRates(3, negatives, 0.1)
    Pretrainer(models[0], draws, rates, Cost()).train(evidence(kind, triples))
    CpuPretrainer(models[1], draws, rates, Cost()).train(evidence(kind, triples))
    for name, table in models[0].tables.items():
        torch.testing.assert_close(models[1].tables[name], table, rtol=1e-5, atol=1e-6)


@both_kinds
@every_model
def test_the_vectors_do_not_depend_on_the_number_of_threads(case: ModelCase, kind: Kind) -> None:
    triples = newcomers(kind, 4)
    first, second = twins(case)
    draws = for_model(first, flat(triples), range(OLD))
    costs = Cost(), Cost()
    CpuPretrainer(first, draws, RATES, costs[0], threads=1).train(evidence(kind, triples))
    CpuPretrainer(second, draws, RATES, costs[1], threads=3).train(evidence(kind, triples))
    for name, table in first.tables.items():
        assert torch.equal(table, second.tables[name])
    assert costs[0] == costs[1]


@both_kinds
@every_model
def test_nothing_moves_but_the_new_elements(case: ModelCase, kind: Kind) -> None:
    triples = newcomers(kind, 5)
    model, _ = twins(case)
    before = model.copy_tables()
    draws = for_model(model, flat(triples), range(OLD))
    CpuPretrainer(model, draws, RATES, Cost()).train(evidence(kind, triples))
    for name, spec in model.layout(model.settings).items():
        moved = (model.tables[name] != before[name]).any(dim=1).nonzero().flatten().tolist()
        assert set(moved) <= set(triples)
        assert bool(moved) is (spec.kind == kind)


@pytest.mark.parametrize("name", ["transe", "distmult"])
def test_an_element_whose_loss_is_no_number_keeps_its_start(name: str) -> None:
    case = next(case for case in CASES if case.settings.name == name)
    _, model = twins(case)
    model.tables["entity"][0] = float("nan")
    before = model.tables["entity"].clone()
    triples = {30: [(0, 0, 30)], 31: [(1, 0, 31), (31, 1, 2)]}
    draws = for_model(model, flat(triples), range(1, OLD))
    cost = Cost()
    CpuPretrainer(model, draws, RATES, cost).train(evidence("entity", triples))
    assert torch.equal(model.tables["entity"][30], before[30])
    assert not torch.equal(model.tables["entity"][31], before[31])


def test_memory_does_not_grow_with_triples_times_dimension() -> None:
    """A hub of 20,000 triples: the vectors of both ends alone would be 16 MB."""
    case = next(case for case in CASES if case.settings.name == "transe")
    case = replace(case, settings=replace(case.settings, dimension=100))
    model = case.random(2001, 10, dtype=torch.float32)
    hub = {2000: [(entity, r, 2000) for entity in range(2000) for r in range(10)]}
    draws, given_ = for_model(model, hub[2000], range(2000)), evidence("entity", hub)
    pretrainer = CpuPretrainer(model, draws, PretrainingRates(1, 1, 0.1), Cost())
    pretrainer.train(given_)  # which may compile
    tracemalloc.start()
    pretrainer.train(given_)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3e6
