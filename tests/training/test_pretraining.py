"""Pre-training against a slow run for one element, and that nobody gets in another's way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softplus

from kgsync.common.cost import Cost
from kgsync.models.base import Kind, Model, Rows
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.torch_backend.pretraining import Pretrainer, PretrainingRates
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Triple, as_rows, as_triples
from tests.training.newcomers import evidence, for_model
from tests.training.reference import torch_optimizer

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)
both_kinds = pytest.mark.parametrize("kind", ["entity", "relation"])

ENTITIES, RELATIONS = 14, 5
OLD = range(10)  # entities 10 to 13 and relations 3 and 4 are new
TRIPLES: dict[Kind, dict[int, list[Triple]]] = {
    "entity": {
        10: [(0, 0, 10), (10, 1, 1), (10, 0, 2), (3, 2, 10)],
        11: [(11, 2, 4)],
        13: [(5, 1, 13), (6, 1, 13), (13, 0, 7), (13, 2, 8), (9, 0, 13)],
    },
    "relation": {4: [(0, 4, 1), (2, 4, 2), (8, 4, 9)], 3: [(5, 3, 6), (6, 3, 5)]},
}
TRAIN = [triple for kind in TRIPLES.values() for some in kind.values() for triple in some]
LONG = PretrainingRates(epochs=12, negatives=2, learning_rate=0.05)


def _model(case: ModelCase, margin: float = 1.0) -> Model:
    settings = replace(case.settings, margin=margin)
    return replace(case, settings=settings).random(ENTITIES, RELATIONS, dtype=torch.float32)


def _draws(model: Model, train: Sequence[Triple] = TRAIN) -> KeyedNegatives:
    return for_model(model, train, OLD)


def _new(model: Model, kind: Kind, row: int) -> Rows:
    return {name: model.tables[name][row] for name in model.names(kind)}


@dataclass
class Slow:
    """What became of one element."""

    vectors: Rows
    losses: list[float]
    rates: list[float]
    steps: int
    """Epochs that moved it."""


def _slow(
    case: ModelCase, model: Model, given: Evidence, draws: KeyedNegatives, rates: PretrainingRates
) -> Slow:
    """Train one element triple by triple, as the text says; the model is left alone."""
    (row,) = given.rows.tolist()
    leaves = {name: v.clone().requires_grad_() for name, v in _new(model, given.kind, row).items()}
    optimizer = torch_optimizer(case.optimizer, leaves.values())
    rate, reference, waited = rates.learning_rate, float("inf"), 0
    run = Slow({}, [], [], 0)

    def score(triple: Triple) -> Tensor:
        kinds: tuple[Kind, Kind, Kind] = ("entity", "relation", "entity")
        parts = []
        for kind, term in zip(kinds, triple, strict=True):
            own = kind == given.kind and term == row
            vectors = leaves if own else _new(model, kind, term)
            parts.append({name: vector[None] for name, vector in vectors.items()})
        return model.score(*parts)[0]

    for epoch in range(rates.epochs):
        drawn = draws.draw(given, rates.negatives, epoch)
        corrupted = [as_triples(drawn.triples[:, draw]) for draw in range(rates.negatives)]
        terms, scores = [], 0
        for at, triple in enumerate(as_triples(given.triples)):
            false = [
                score(corrupted[draw][at])
                for draw in range(rates.negatives)
                if drawn.possible[draw, at]
            ]
            true = score(triple)
            if model.info.loss == "logistic":
                terms += [softplus(-true), *(softplus(negative) for negative in false)]
                scores += 1 + len(false)
            elif false:
                mean = torch.stack(false).sum() / len(false)
                terms.append(torch.relu(model.settings.margin - true + mean))
        loss = sum(terms, start=torch.zeros(())) / (scores or 1)
        if not run.losses or loss.item() < min(run.losses):
            run.vectors = {name: leaf.detach().clone() for name, leaf in leaves.items()}
        run.losses.append(loss.item())
        if loss.item() < reference * 0.99:
            reference, waited = loss.item(), 0
        else:
            waited += 1
        if waited == 5:
            rate, waited = rate / 2, 0
        run.rates.append(rate)
        if loss.item() == 0:
            break
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        run.steps += 1
    return run


@both_kinds
@every_model
def test_elements_train_as_they_would_slowly_and_alone(case: ModelCase, kind: Kind) -> None:
    model = _model(case)
    draws, cost = _draws(model), Cost()
    expected = {
        row: _slow(case, model, evidence(kind, {row: some}), draws, LONG)
        for row, some in TRIPLES[kind].items()
    }
    Pretrainer(model, draws, LONG, cost).train(evidence(kind, TRIPLES[kind]))
    for row, slow in expected.items():
        for name, vector in _new(model, kind, row).items():
            torch.testing.assert_close(vector, slow.vectors[name], rtol=1e-4, atol=1e-5)
    assert cost.gradient_steps == sum(slow.steps for slow in expected.values())
    assert cost.score_evaluations == sum(
        len(slow.losses) * 3 * len(TRIPLES[kind][row]) for row, slow in expected.items()
    )


@both_kinds
@every_model
def test_all_together_is_the_same_as_one_by_one(case: ModelCase, kind: Kind) -> None:
    together, apart = _model(case), _model(case)
    draws, costs = _draws(together), (Cost(), Cost())
    Pretrainer(together, draws, LONG, costs[0]).train(evidence(kind, TRIPLES[kind]))
    for row, some in TRIPLES[kind].items():
        Pretrainer(apart, draws, LONG, costs[1]).train(evidence(kind, {row: some}))
    assert costs[0] == costs[1]
    for name, table in together.tables.items():
        torch.testing.assert_close(table, apart.tables[name], rtol=1e-5, atol=1e-6)


@both_kinds
@every_model
def test_everything_but_the_new_elements_is_frozen_to_the_bit(case: ModelCase, kind: Kind) -> None:
    model = _model(case)
    before = model.copy_tables()
    Pretrainer(model, _draws(model), LONG, Cost()).train(evidence(kind, TRIPLES[kind]))
    for name, spec in model.layout(model.settings).items():
        moved = (model.tables[name] != before[name]).any(dim=1).nonzero().flatten().tolist()
        assert set(moved) <= set(TRIPLES[kind])
        assert bool(moved) is (spec.kind == kind)


def _one_number(case: ModelCase, entities: Sequence[float], relation: float) -> Model:
    settings = replace(case.settings, dimension=1, margin=1.0)
    model = replace(case, settings=settings).random(len(entities), 1, dtype=torch.float32)
    model.tables["entity"][:] = torch.tensor(entities)[:, None]
    model.tables["relation"][:] = relation
    return model


def test_the_vector_of_the_best_epoch_is_the_one_before_its_step() -> None:
    """One epoch has one loss, that of the vector it began with."""
    model = _model(CASES[0])
    before, cost = model.copy_tables(), Cost()
    rates = PretrainingRates(epochs=1, negatives=1, learning_rate=0.1)
    Pretrainer(model, _draws(model), rates, cost).train(evidence("entity", TRIPLES["entity"]))
    assert torch.equal(model.tables["entity"], before["entity"])
    assert cost == Cost(score_evaluations=2 * 10, gradient_steps=3)


def test_a_step_that_makes_things_worse_is_taken_back() -> None:
    """True and false triples pull alike, so the best vector is near 0; steps of 50 jump over it."""
    (case,) = (case for case in CASES if case.settings.name == "distmult")
    model = _one_number(case, [1.0, 1.0, 0.1], 1.0)
    train, cost = [(0, 0, 2)], Cost()
    rates = PretrainingRates(epochs=2, negatives=1, learning_rate=50.0)
    Pretrainer(model, for_model(model, train, [1]), rates, cost).train(
        evidence("entity", {2: train})
    )
    assert model.tables["entity"][2].item() == pytest.approx(0.1)
    assert cost.gradient_steps == 2


def test_training_stops_where_the_loss_is_zero() -> None:
    # 0.1 against 2.9: the margin is kept, whereas from 1.2 it takes steps of 0.2 to get to 1.0.
    model = _one_number(CASES[0], [0.0, 3.0, 0.1, 1.2], 0.0)
    triples = {2: [(0, 0, 2)], 3: [(0, 0, 3)]}
    train = [triple for some in triples.values() for triple in some]
    draws = for_model(model, train, [1])
    cost = Cost()
    rates = PretrainingRates(epochs=30, negatives=1, learning_rate=0.1)
    Pretrainer(model, draws, rates, cost).train(evidence("entity", triples))
    assert model.tables["entity"][2].item() == pytest.approx(0.1)
    assert model.tables["entity"][3].item() == pytest.approx(1.0)
    # Entity 2 is looked at once; entity 3 at 1.2 and again at 1.0.
    assert cost == Cost(score_evaluations=2 * 3, gradient_steps=1)


def test_the_mean_of_the_false_ones_stands_inside_the_hinge() -> None:
    """Eq. train_init_rel: one far and one near false triple make up for each other."""
    model = _one_number(CASES[0], [0.0, 1.0, 9.0, 0.5], 0.0)
    train = [(0, 0, 3)]
    draws = for_model(model, train, [1, 2])
    given = evidence("entity", {3: train})
    rates = PretrainingRates(epochs=20, negatives=2, learning_rate=0.01)
    heads = [sorted(draws.draw(given, 2, epoch).triples[0, :, 0].tolist()) for epoch in range(20)]
    # From 0.5, entity 1 alone breaks the margin, both together keep it, entity 2 alone too.
    stop = next(epoch for epoch, pair in enumerate(heads) if pair != [1, 1])
    cost = Cost()
    Pretrainer(model, draws, rates, cost).train(given)
    assert cost.gradient_steps == stop
    assert cost.score_evaluations == 3 * (stop + 1)


@both_kinds
@every_model
def test_without_false_triples_a_margin_is_kept_and_a_logistic_loss_trains_on(
    case: ModelCase, kind: Kind
) -> None:
    model = case.random(5, 2, dtype=torch.float32)
    before, cost = model.copy_tables(), Cost()
    train = [(h, r, t) for h in range(5) for r in range(2) for t in range(5)]
    draws = for_model(model, train, range(4))
    triples: Mapping[int, list[Triple]]
    triples = {4: [(0, 0, 4), (4, 1, 2)]} if kind == "entity" else {1: [(0, 1, 2)]}
    Pretrainer(model, draws, LONG, cost).train(evidence(kind, triples))
    (row,) = triples
    if case.penalty is None:  # the margin losses
        assert all(torch.equal(table, before[name]) for name, table in model.tables.items())
        assert cost.gradient_steps == 0
        return
    rows = as_rows(triples[row])

    def score(tables: Rows) -> Tensor:
        scored = type(model)(model.settings, tables)
        heads, relations, tails = torch.from_numpy(rows)
        entity = scored.rows("entity", heads), scored.rows("entity", tails)
        return scored.score(entity[0], scored.rows("relation", relations), entity[1]).sum()

    assert score(model.tables) > score(before)
    assert cost.gradient_steps == LONG.epochs


def test_no_survivors_leave_margin_models_where_they_are() -> None:
    model = _model(CASES[0])
    before = model.copy_tables()
    draws = for_model(model, TRAIN, [])
    Pretrainer(model, draws, LONG, Cost()).train(evidence("relation", TRIPLES["relation"]))
    assert torch.equal(model.tables["relation"], before["relation"])


def test_the_learning_rate_is_halved_after_five_epochs_without_a_fall() -> None:
    """A relation between two places that pull alike stands still but for its last step."""
    model = _one_number(CASES[0], [0.0, 1.0, -1.0, 100.0], 0.0)
    model.settings = replace(model.settings, margin=1000.0)
    triples = [(0, 0, 1), (0, 0, 2)]
    given, draws = evidence("relation", {0: triples}), for_model(model, triples, [3])
    slow = _slow(CASES[0], model, given, draws, PretrainingRates(16, 1, 0.001))
    assert slow.rates == pytest.approx([0.001] * 5 + [0.0005] * 5 + [0.00025] * 5 + [0.000125])
    Pretrainer(model, draws, PretrainingRates(16, 1, 0.001), Cost()).train(given)
    torch.testing.assert_close(model.tables["relation"][0], slow.vectors["relation"])
