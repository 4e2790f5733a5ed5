"""The contract of update strategies, which every file of `kgsync/training/updates` has to meet."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
import torch

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import RunSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.errors import ConfigError
from kgsync.evaluation.moved_rows import Embedded, moved_ids
from kgsync.models.base import Kind, Model
from kgsync.training.initial.vectors import carry_over
from kgsync.training.progress import TrainingRun
from kgsync.training.settings import strategies
from kgsync.training.updates import UpdateTask, strategy
from tests.models.cases import EVERY_CASE, ModelCase, assert_same_vectors
from tests.training.graphs import Version
from tests.training.updates.test_paper import NEW, OLD

GROWN = replace(OLD, train=(*OLD.train, (len(OLD.active.entities) + 3, 0, 0)))

every_strategy = pytest.mark.parametrize("name", strategies())
every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)


def _settings(case: ModelCase, name: str, **run: str) -> Settings:
    return Settings(
        model=case.settings,
        training=TrainingSettings(batches=3),
        update=UpdateSettings(
            strategy=name, change_epochs=2, general_epochs=4, validate_every=2, pretraining_epochs=3
        ),
        run=RunSettings(**run),  # type: ignore[arg-type]
    )


def _updated(
    case: ModelCase, name: str, old: Version = OLD, new: Version = NEW, **run: str
) -> tuple[Model, Model, TrainingRun, Cost]:
    """The old model, the updated one, and what was done."""
    settings = _settings(case, name, **run)
    active = old.active
    before = case.random(len(active.entities), len(active.relations), dtype=torch.float32)
    problem, cost = new.problem(settings), Cost()
    model = carry_over(before, active, problem)
    task = UpdateTask(model, active, old.change_to(new), problem, Phases(SilentListener()), cost)
    return before, model, strategy(name)(task), cost


def test_a_strategy_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"\[update\] strategy must be one of .*paper"):
        Settings(update=UpdateSettings(strategy="magic"))


@every_strategy
@every_model
def test_new_vectors_are_finite_and_the_work_is_counted(case: ModelCase, name: str) -> None:
    _, model, run, cost = _updated(case, name)
    assert all(bool(table.isfinite().all()) for table in model.tables.values())
    assert model.sizes == {
        "entity": len(NEW.active.entities),
        "relation": len(NEW.active.relations),
    }
    assert run.epochs > 0
    assert cost.score_evaluations > 0


@every_strategy
@every_model
def test_the_same_change_gives_the_same_vectors(case: ModelCase, name: str) -> None:
    first, second = (_updated(case, name)[1] for _ in range(2))
    assert_same_vectors(first, second.tables)


@every_strategy
@every_model
@pytest.mark.parametrize("new", [NEW, GROWN], ids=["replaced", "grown"])
def test_every_row_that_moved_is_among_those_that_may_have(
    case: ModelCase, name: str, new: Version
) -> None:
    _assert_all_that_moved_are_touched(new, *_updated(case, name, new=new)[:3])


@every_strategy
def test_torch_moves_no_other_rows(name: str) -> None:
    updated = _updated(EVERY_CASE[0], name, new=GROWN, backend="torch")
    _assert_all_that_moved_are_touched(GROWN, *updated[:3])


def _assert_all_that_moved_are_touched(
    new: Version, before: Model, model: Model, run: TrainingRun
) -> None:
    old, active, kinds = Embedded(before, OLD.active), new.active, get_args(Kind)
    moved = {kind: moved_ids(old, Embedded(model, active), kind) for kind in kinds}
    claimed = {kind: moved_ids(old, Embedded(model, active, run.touched), kind) for kind in kinds}
    assert {k: ids.tolist() for k, ids in claimed.items()} == {
        k: ids.tolist() for k, ids in moved.items()
    }
    assert len(moved["entity"])


@every_model
def test_nothing_has_moved_that_was_only_carried_over(case: ModelCase) -> None:
    sizes = len(OLD.active.entities), len(OLD.active.relations)
    before = case.random(*sizes, dtype=torch.float32)
    model = carry_over(before, OLD.active, GROWN.problem(_settings(case, "local")))
    old, new = Embedded(before, OLD.active), Embedded(model, GROWN.active)
    assert not any(len(moved_ids(old, new, kind)) for kind in get_args(Kind))


@every_strategy
def test_torch_updates_too(name: str) -> None:
    case = EVERY_CASE[0]
    before, model, _, cost = _updated(case, name, backend="torch")
    assert cost.score_evaluations > 0
    shared = model.tables["entity"][: len(before.tables["entity"]) - 1]
    assert not torch.equal(shared, before.tables["entity"][: len(shared)])


@every_strategy
def test_elements_without_a_training_triple_keep_their_vectors(name: str) -> None:
    # Entity 8 occurs in a test triple only.
    old = replace(OLD, test=(*OLD.test, (8, 0, 1)))
    new = replace(NEW, test=(*NEW.test, (8, 0, 1)))
    case = EVERY_CASE[0]
    before, model, _, _ = _updated(case, name, old, new)
    at_old = list(old.active.entities).index(8)
    at_new = list(new.active.entities).index(8)
    assert torch.equal(model.tables["entity"][at_new], before.tables["entity"][at_old])
