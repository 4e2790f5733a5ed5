"""SGD and Adagrad on the rows a batch touches; all other rows and their state stay as they are."""

from __future__ import annotations

import torch
from torch import Tensor

from kgsync.models.base import Model, Rows

__all__ = ["EPSILON", "RowOptimizer", "adagrad_step"]

EPSILON = 1e-10


class RowOptimizer:
    """Applies gradients of gathered rows to a model's tables, in place."""

    def __init__(self, model: Model) -> None:
        """Start with fresh state for the model's own kind of optimiser."""
        self._tables = model.tables
        adagrad = model.info.optimizer == "adagrad"
        self._squares: Rows | None = (
            {name: torch.zeros_like(table) for name, table in model.tables.items()}
            if adagrad
            else None
        )

    def step(self, table: str, rows: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Move the given, distinct rows of a table against their gradient."""
        if self._squares is not None:
            gradient = adagrad_step(self._squares[table], rows, gradient)
        self._tables[table].index_add_(0, rows, gradient, alpha=-learning_rate)


def adagrad_step(squares: Tensor, rows: Tensor, gradient: Tensor) -> Tensor:
    """The step of the given rows, whose squared gradients are added to the sums so far."""
    accumulated = squares[rows].addcmul_(gradient, gradient)
    squares[rows] = accumulated
    return gradient / accumulated.sqrt_().add_(EPSILON)
