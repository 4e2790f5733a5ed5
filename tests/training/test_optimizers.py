"""The optimisers by rows against torch's own on whole tables."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kgsync.models.base import Model
from kgsync.training.torch_backend.optimizers import RowOptimizer
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.reference import torch_optimizer

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)


def _steps(model: Model, name: str, count: int) -> list[tuple[Tensor, Tensor]]:
    """Distinct rows and a gradient for them, several times; the last row is never touched."""
    generator = torch.Generator().manual_seed(7)
    table = model.tables[name]
    steps = []
    for _ in range(count):
        size = int(torch.randint(1, len(table), (1,), generator=generator))
        rows = torch.randperm(len(table) - 1, generator=generator)[:size]
        gradient = torch.randn(len(rows), table.shape[1], generator=generator).to(table.dtype)
        steps.append((rows, gradient))
    return steps


@every_model
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_move_as_they_do_under_the_optimiser_of_torch(
    case: ModelCase, dtype: torch.dtype
) -> None:
    model = case.random(8, 5)
    model.tables = {name: table.to(dtype) for name, table in model.tables.items()}
    for name in model.tables:
        whole = model.tables[name].clone().requires_grad_()
        reference = torch_optimizer(case.optimizer, [whole])
        optimizer = RowOptimizer(model)
        for number, (rows, gradient) in enumerate(_steps(model, name, 8)):
            rate = 0.1 / (1 + number)
            reference.param_groups[0]["lr"] = rate
            whole.grad = torch.zeros_like(whole).index_copy(0, rows, gradient)
            reference.step()
            optimizer.step(name, rows, gradient.clone(), rate)
            torch.testing.assert_close(model.tables[name], whole.detach())


@every_model
def test_rows_outside_a_step_do_not_change_by_a_bit(case: ModelCase) -> None:
    model = case.random(8, 5)
    optimizer = RowOptimizer(model)
    for name in model.tables:
        for rows, gradient in _steps(model, name, 4):
            before = model.copy_tables()
            optimizer.step(name, rows, gradient, 0.1)
            touched = torch.zeros(len(before[name]), dtype=torch.bool).index_fill(0, rows, True)
            assert torch.equal(model.tables[name][~touched], before[name][~touched])
            assert (model.tables[name][touched] != before[name][touched]).any(dim=1).all()
            for other in set(model.tables) - {name}:
                assert torch.equal(model.tables[other], before[other])


@every_model
def test_a_step_leaves_the_gradient_as_it_was(case: ModelCase) -> None:
    model = case.random(8, 5)
    gradient = torch.ones(2, model.tables["entity"].shape[1], dtype=torch.float64)
    RowOptimizer(model).step("entity", torch.tensor([1, 3]), gradient, 0.1)
    assert torch.equal(gradient, torch.ones_like(gradient))


def test_a_new_adagrad_starts_with_fresh_accumulators() -> None:
    (case,) = (case for case in CASES if case.settings.name == "distmult")
    model = case.random(3, 2)
    rows, gradient = torch.tensor([1]), torch.full((1, 4), 2.0, dtype=torch.float64)
    moved = []
    for optimizer in (RowOptimizer(model), RowOptimizer(model)):
        before = model.tables["entity"][1].clone()
        optimizer.step("entity", rows, gradient, 0.1)
        moved.append(model.tables["entity"][1] - before)
    # The first step of Adagrad is as long as the learning rate, whatever the gradient.
    for step in moved:
        torch.testing.assert_close(step, torch.full((4,), -0.1, dtype=torch.float64))


def test_an_adagrad_step_with_a_zero_gradient_stays_where_it_is() -> None:
    (case,) = (case for case in CASES if case.settings.name == "distmult")
    model = case.random(3, 2)
    before = model.copy_tables()
    RowOptimizer(model).step("entity", torch.tensor([0]), torch.zeros(1, 4).double(), 0.1)
    assert torch.equal(model.tables["entity"], before["entity"])
