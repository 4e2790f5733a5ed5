"""General and change-specific epochs against slow training on the same samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.common.cost import Cost
from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.torch_backend.trainer import Trainer
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.conftest import Draws
from tests.training.graphs import Triple, as_rows, as_triples, ring
from tests.training.reference import Reference

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

ENTITIES, RELATIONS = 11, 3
TRAIN = as_rows(ring(ENTITIES, 1, 3, 4))
ADDED = TRAIN[:, ::6]
DELETED = as_rows([(0, 0, 5), (3, 1, 1), (9, 2, 9)])


def _model(case: ModelCase, margin: float = 0.5) -> Model:
    """A random model; by default some of its margins are kept and some are broken."""
    return replace(case, settings=replace(case.settings, margin=margin)).random(ENTITIES, RELATIONS)


def _trainer(
    model: Model, train: TripleRows = TRAIN, batches: int = 4, cost: Cost | None = None
) -> Trainer:
    return Trainer(model, train, batches, np.random.default_rng(5), cost or Cost())


def _corrected(train: TripleRows = TRAIN) -> CorrectedSampler:
    return CorrectedSampler(train, RELATIONS, np.random.default_rng(6))


def _pairs(draws: Draws) -> tuple[TripleRows, TripleRows]:
    """The true and the false triples of the last change-specific epoch."""
    true, false = draws.corrupted[-1]
    deleted, corrected = draws.corrected[-1]
    return np.concatenate([corrected, true], axis=1), np.concatenate([deleted, false], axis=1)


def _assert_same(model: Model, reference: Reference) -> None:
    for name, table in model.tables.items():
        torch.testing.assert_close(table, reference.tables[name], rtol=1e-9, atol=1e-12)


@every_model
def test_general_epochs_equal_slow_training(case: ModelCase, draws: Draws) -> None:
    model = _model(case)
    reference = Reference(model, case.optimizer)
    trainer = _trainer(model)
    for rate in (0.05, 0.02):
        draws.corrupted.clear()
        loss = trainer.general_epoch(rate)
        losses = [reference.step(true, false, rate) for true, false in draws.corrupted]
        assert len(losses) == 4
        assert loss == pytest.approx(sum(losses) / 4)
        _assert_same(model, reference)


@every_model
def test_change_epochs_equal_slow_training(case: ModelCase, draws: Draws) -> None:
    model = _model(case)
    reference = Reference(model, case.optimizer)
    trainer, corrected = _trainer(model), _corrected()
    for rate in (0.05, 0.02):
        loss = trainer.change_epoch(ADDED, DELETED, corrected, rate)
        assert loss == pytest.approx(reference.step(*_pairs(draws), rate))
        _assert_same(model, reference)


@every_model
def test_both_kinds_of_epoch_share_the_state_of_the_optimiser(
    case: ModelCase, draws: Draws
) -> None:
    model = _model(case)
    reference = Reference(model, case.optimizer)
    trainer = _trainer(model, batches=1)
    trainer.general_epoch(0.05)
    reference.step(*draws.corrupted[-1], 0.05)
    trainer.change_epoch(ADDED, DELETED, _corrected(), 0.02)
    reference.step(*_pairs(draws), 0.02)
    trainer.general_epoch(0.05)
    reference.step(*draws.corrupted[-1], 0.05)
    _assert_same(model, reference)


@every_model
def test_a_change_epoch_makes_its_pairs_cheaper(case: ModelCase, draws: Draws) -> None:
    model = _model(case)
    _trainer(model).change_epoch(ADDED, DELETED, _corrected(), 0.001)
    pairs = _pairs(draws)
    start = Reference(_model(case), case.optimizer).objective(*pairs)
    assert Reference(model, case.optimizer).objective(*pairs) < start


@pytest.mark.parametrize("batches", [1, 4, 7, 33, 1000])
def test_a_general_epoch_sees_every_training_triple_once(batches: int, draws: Draws) -> None:
    _trainer(_model(CASES[0]), batches=batches).general_epoch(0.01)
    seen = [as_triples(true) for true, _ in draws.corrupted]
    sizes = {len(batch) for batch in seen}
    assert len(seen) == min(batches, TRAIN.shape[1])
    assert max(sizes) - min(sizes) <= 1
    assert sorted(triple for batch in seen for triple in batch) == sorted(as_triples(TRAIN))


def test_every_general_epoch_shuffles_anew(draws: Draws) -> None:
    trainer = _trainer(_model(CASES[0]), batches=1)
    trainer.general_epoch(0.01)
    trainer.general_epoch(0.01)
    first, second = (as_triples(true) for true, _ in draws.corrupted)
    assert first != second
    assert first != as_triples(TRAIN)


def test_added_triples_are_true_and_deleted_ones_false(draws: Draws) -> None:
    _trainer(_model(CASES[0])).change_epoch(ADDED, DELETED, _corrected(), 0.01)
    (true, false), (deleted, corrected) = draws.corrupted[0], draws.corrected[0]
    training = set(as_triples(TRAIN))
    assert as_triples(true) == as_triples(ADDED)
    assert as_triples(deleted) == as_triples(DELETED)
    assert training.isdisjoint(as_triples(false))
    assert training.issuperset(as_triples(corrected))


@every_model
def test_rows_that_a_change_epoch_does_not_touch_stay_to_the_bit(
    case: ModelCase, draws: Draws
) -> None:
    model = _model(case, margin=10.0)
    before = model.copy_tables()
    _trainer(model).change_epoch(ADDED[:, :1], DELETED[:, :1], _corrected(), 0.1)
    heads, relations, tails = np.concatenate(_pairs(draws), axis=1)
    touched = {"entity": {*heads.tolist(), *tails.tolist()}, "relation": set(relations.tolist())}
    for name, spec in model.layout(model.settings).items():
        rest = [row for row in range(len(before[name])) if row not in touched[spec.kind]]
        assert rest
        assert torch.equal(model.tables[name][rest], before[name][rest])
    assert not torch.equal(model.tables["entity"], before["entity"])


@every_model
def test_triples_without_a_corruption_are_left_out(case: ModelCase) -> None:
    complete = as_rows([(h, 0, t) for h in range(3) for t in range(3)])
    model = case.random(3, 1)
    before, cost = model.copy_tables(), Cost()
    trainer = _trainer(model, complete, 2, cost)
    nothing = as_rows([])
    assert trainer.general_epoch(0.1) == 0.0
    assert trainer.change_epoch(complete, nothing, _corrected(complete), 0.1) == 0.0
    assert cost == Cost()
    for name, table in model.tables.items():
        assert torch.equal(table, before[name])


def test_a_change_of_nothing_moves_nothing() -> None:
    model = _model(CASES[0])
    before, cost = model.copy_tables(), Cost()
    nothing = as_rows([])
    trainer = _trainer(model, cost=cost)
    assert trainer.change_epoch(nothing, nothing, _corrected(), 0.1) == 0.0
    assert cost == Cost()
    assert torch.equal(model.tables["entity"], before["entity"])


def test_an_epoch_over_no_training_triples_moves_nothing() -> None:
    """A tiny graph may have all of its triples held out."""
    model = _model(CASES[0])
    before = model.copy_tables()
    assert _trainer(model, as_rows([])).general_epoch(0.1) == 0.0
    assert torch.equal(model.tables["entity"], before["entity"])


def test_deleted_triples_do_not_matter_where_no_training_triple_could_correct_them() -> None:
    """There is nothing to draw a true triple from if the new version trains on nothing."""
    model = _model(CASES[0])
    before, nothing = model.copy_tables(), as_rows([])
    loss = _trainer(model, nothing).change_epoch(nothing, DELETED, _corrected(nothing), 0.1)
    assert loss == 0.0
    assert torch.equal(model.tables["entity"], before["entity"])


@st.composite
def _changes(draw: st.DrawFn) -> tuple[list[Triple], list[Triple], list[Triple], int]:
    """Training triples, added ones among them, deleted ones, and a number of batches."""
    row = st.integers(0, 4)
    triple = st.tuples(row, st.integers(0, 1), row)
    some = draw(st.lists(triple, min_size=2, max_size=20, unique=True))
    cut = draw(st.integers(1, len(some)))
    train, deleted = some[:cut], some[cut:]
    added = draw(st.lists(st.sampled_from(train), unique=True))
    return train, added, deleted, draw(st.integers(1, 8))


@pytest.mark.parametrize("chosen", range(len(CASES)))
@given(graph=_changes())
@settings(deadline=None, max_examples=40)
def test_costs_stay_within_the_bounds_of_the_theorems(
    chosen: int, graph: tuple[list[Triple], list[Triple], list[Triple], int]
) -> None:
    train, added, deleted, batches = graph
    entities, relations = 5, 2
    cost = Cost()
    trainer = _trainer(CASES[chosen].random(entities, relations), as_rows(train), batches, cost)
    trainer.general_epoch(0.01)
    assert cost.score_evaluations <= 2 * len(train)
    assert cost.gradient_steps <= batches * (entities + relations)
    general = replace(cost)
    corrected = CorrectedSampler(as_rows(train), relations, np.random.default_rng(0))
    trainer.change_epoch(as_rows(added), as_rows(deleted), corrected, 0.01)
    evaluations = cost.score_evaluations - general.score_evaluations
    assert evaluations <= 2 * (len(added) + len(deleted))
    assert cost.gradient_steps - general.gradient_steps <= entities + relations


def test_costs_count_scored_triples_and_moved_vectors(draws: Draws) -> None:
    cost = Cost()
    _trainer(_model(CASES[0]), cost=cost).change_epoch(ADDED, DELETED, _corrected(), 0.01)
    heads, relations, tails = np.concatenate(_pairs(draws), axis=1)
    assert cost.score_evaluations == 2 * (ADDED.shape[1] + DELETED.shape[1])
    assert cost.gradient_steps == len({*heads, *tails}) + len({*relations})


def test_a_general_epoch_counts_every_batch_on_its_own(draws: Draws) -> None:
    cost = Cost()
    _trainer(_model(CASES[0]), batches=5, cost=cost).general_epoch(0.01)
    moved = 0
    for pairs in draws.corrupted:
        heads, relations, tails = np.concatenate(pairs, axis=1)
        moved += len({*heads, *tails}) + len({*relations})
    assert cost == Cost(score_evaluations=2 * TRAIN.shape[1], gradient_steps=moved)


@every_model
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_loss_that_is_not_a_number_stops_training(case: ModelCase, value: float) -> None:
    model = _model(case)
    for table in model.tables.values():
        table[0] = value
    before = model.copy_tables()
    with pytest.raises(TrainingError, match="learning rate"):
        _trainer(model, batches=1).general_epoch(0.1)
    with pytest.raises(TrainingError, match="learning rate"):
        _trainer(model).change_epoch(TRAIN, DELETED, _corrected(), 0.1)
    for name, table in model.tables.items():
        torch.testing.assert_close(table, before[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "entities", "relation"),
    [("transe", [1.7e308, 0.0, 0.0], 0.0), ("distmult", [1e200, 1e200, 1e200], -1.0)],
)
def test_a_loss_that_is_infinite_stops_training(
    name: str, entities: list[float], relation: float
) -> None:
    """True triples are infinitely far off, false ones are not: infinity, and no NaN yet."""
    case = next(case for case in CASES if case.settings.name == name)
    model = case.random(3, 1)
    model.tables["entity"][:] = torch.tensor(entities, dtype=torch.float64)[:, None]
    model.tables["relation"][:] = relation
    star = as_rows([(0, 0, 0), (0, 0, 1), (0, 0, 2)])  # so only heads can be corrupted
    with pytest.raises(TrainingError, match="learning rate"):
        _trainer(model, star, batches=1).general_epoch(0.1)
