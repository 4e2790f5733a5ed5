"""Aligned retraining: in the space of the old vectors, with what the next update needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import RunSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.models import MODELS
from kgsync.models.base import Model
from kgsync.training import retraining
from kgsync.training.alignment import OldVectors, align
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.moving import with_training_triples
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.progress import TrainingRun
from kgsync.training.retraining import retrain_aligned
from kgsync.training.states import carried_states
from kgsync.training.updates import UpdateTask
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Version, ring

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

OLD = Version(train=ring(30, 1, 3, 7))
# Entity 30 is new; entity 31 is new and has no training triple.
NEW = Version(train=(*OLD.train[5:], (30, 0, 4), (6, 1, 30)), test=((31, 0, 1),))
SHORT = TrainingSettings(epochs=12, batches=5)


def _settings(case: ModelCase, strategy: str = "local", backend: str = "torch") -> Settings:
    update = UpdateSettings(strategy=strategy, pretraining_epochs=3)
    run = RunSettings(backend=backend)  # type: ignore[arg-type]
    return Settings(model=case.settings, training=SHORT, update=update, run=run)


def _named(name: str) -> ModelCase:
    return next(case for case in CASES if case.settings.name == name)


def _old(case: ModelCase) -> Model:
    active = OLD.active
    return case.random(len(active.entities), len(active.relations), dtype=torch.float32)


def _retrained(
    case: ModelCase, strategy: str = "local", kept: Kept = NOTHING_KEPT, backend: str = "torch"
) -> tuple[Model, TrainingRun, Problem]:
    problem = NEW.problem(_settings(case, strategy, backend))
    model = carry_over(_old(case), OLD.active, problem)
    phases, change = Phases(SilentListener()), OLD.change_to(NEW)
    task = UpdateTask(model, OLD.active, change, problem, phases, Cost(), kept=kept)
    return model, retrain_aligned(task), problem


def _distance(model: Model, old: Model, shared: int = 30) -> float:
    return float((model.tables["entity"][:shared] - old.tables["entity"]).square().sum())


def _scores(model: Model, triples: torch.Tensor) -> torch.Tensor:
    heads, relations, tails = triples
    return model.score(
        model.rows("entity", heads), model.rows("relation", relations), model.rows("entity", tails)
    )


@every_model
def test_aligned_scores_of_trained_rows_are_the_retrained_ones(case: ModelCase) -> None:
    model = case.random(32, 3, seed=1)
    old = OldVectors.of(case.random(32, 3, seed=2), OLD.active, NEW.active)
    trained = with_training_triples(NEW.problem(_settings(case)).train, 32, 3)
    rows = torch.from_numpy(np.flatnonzero(trained.entities))
    triples = torch.cartesian_prod(rows, torch.arange(3), rows).T

    def scores() -> torch.Tensor:
        return _scores(model, triples)

    before = scores()
    assert align(model, old, trained, {}) is not None
    torch.testing.assert_close(scores(), before, rtol=1e-9, atol=1e-12)


@every_model
def test_retraining_stays_in_the_space_of_the_old_vectors(case: ModelCase) -> None:
    old = _old(case)
    model, run, problem = _retrained(case)
    scratch, _ = train_offline(problem, Cost())
    assert _distance(model, old) < _distance(scratch, old)
    assert run.alignment is not None
    assert run.alignment.method
    moved = problem.stability(old, OLD.active, model)
    before = run.alignment.moved_before
    assert before["entity"] is not None
    assert moved["entity"] is not None
    assert before["entity"].shared == moved["entity"].shared == 30


def test_rows_without_a_training_triple_stay_where_they_were() -> None:
    case = CASES[1]
    model, _, problem = _retrained(case)
    carried = carry_over(_old(case), OLD.active, problem)
    assert torch.equal(model.tables["entity"][31], carried.tables["entity"][31])


def test_nothing_is_owed_after_retraining() -> None:
    owing = NOTHING_KEPT.with_debts(OLD.active, np.full(30, 4), np.full(3, 2)).with_number(
        "old", 3.0
    )
    _, run, problem = _retrained(CASES[0], kept=owing)
    assert not run.kept.debt("entity", problem.active.entities).any()
    assert not run.kept.debt("relation", problem.active.relations).any()
    assert run.kept.number("old") is None  # it was measured with other vectors


def test_the_procedure_of_the_paper_keeps_nothing() -> None:
    assert _retrained(_named("distmult"), "paper")[1].kept == NOTHING_KEPT


@pytest.mark.parametrize("name", ["distmult", "rescal", "complex", "rotate"])
def test_the_states_of_the_optimizer_follow_the_vectors(name: str) -> None:
    case = _named(name)
    model, run, problem = _retrained(case)
    states = carried_states(model, problem.active, problem, run.kept, Cost())
    for table, state in states.items():
        assert state.shape == model.tables[table].shape
        assert (state >= 0).all()
    trained = with_training_triples(problem.train, *model.sizes.values())
    assert (states["entity"][torch.from_numpy(trained.entities)].sum(1) > 0).all()
    assert not states["entity"][31].any()


def test_states_are_exchanged_with_the_coordinates() -> None:
    case = _named("distmult")
    old = case.random(30, 3)
    order = torch.tensor([2, 0, 3, 1])
    tables = {name: table[:, order].clone() for name, table in old.tables.items()}
    tables["entity"][:, 1] *= -1
    model = type(old)(old.settings, tables)
    states = {name: torch.rand(table.shape) for name, table in tables.items()}
    expected = {name: state[:, order.argsort()].clone() for name, state in states.items()}
    trained = with_training_triples(OLD.problem(_settings(case)).train, 30, 3)
    assert align(model, OldVectors.of(old, OLD.active, OLD.active), trained, states)
    for name, table in old.tables.items():
        torch.testing.assert_close(model.tables[name], table)
        torch.testing.assert_close(states[name], expected[name])


def test_pulling_moves_survivors_a_share_of_the_way() -> None:
    case = CASES[0]
    problem = NEW.problem(_settings(case))
    model = carry_over(_old(case), OLD.active, problem)
    start = model.copy_tables()
    old = OldVectors.of(model, OLD.active, problem.active)
    for table in model.tables.values():
        table.add_(1)
    old.pull(model, 0.25)
    torch.testing.assert_close(model.tables["entity"][:30], start["entity"][:30] + 0.75)
    torch.testing.assert_close(model.tables["entity"][30:], start["entity"][30:] + 1)
    torch.testing.assert_close(model.tables["relation"], start["relation"] + 0.75)


@pytest.mark.parametrize("name", ["transe", "rescal"])
def test_scores_are_those_of_training_from_scratch(name: str) -> None:
    case = _named(name)
    model, _, problem = _retrained(case)
    scratch, _ = train_offline(problem, Cost())
    scores = [_scores(each, torch.from_numpy(problem.train)) for each in (model, scratch)]
    assert not torch.allclose(model.tables["entity"], scratch.tables["entity"])
    torch.testing.assert_close(*scores, rtol=1e-4, atol=1e-5)


def test_a_model_without_a_symmetry_is_pulled(monkeypatch: pytest.MonkeyPatch) -> None:
    case = _named("transe")
    plain = replace(MODELS["transe"], symmetry=None, retrains_anew=False)
    monkeypatch.setattr(Model, "info", plain)
    near, run, _ = _retrained(case)
    assert run.alignment is not None
    assert "pull towards the old vectors" in run.alignment.method
    monkeypatch.setattr(retraining, "_PULL", 0.0)
    far, _, _ = _retrained(case)
    assert _distance(near, _old(case)) < _distance(far, _old(case))


def test_the_kernels_retrain_too() -> None:
    model, run, _ = _retrained(_named("transe"), backend="cpu")
    assert run.alignment is not None
    assert _distance(model, _old(_named("transe"))) > 0
