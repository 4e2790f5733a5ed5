"""An optimiser on the rows a batch touches; all other rows and their state stay as they are."""

from __future__ import annotations

import torch
from torch import Tensor

from kgsync.models.base import Model, Rows
from kgsync.models.optimizers import OPTIMIZERS

__all__ = ["RowOptimizer", "fresh_states"]


class RowOptimizer:
    """Applies gradients of gathered rows to a model's tables, in place."""

    def __init__(self, model: Model, states: Rows | None = None) -> None:
        """Prepare the model's own kind of optimiser.

        Args:
            model: The model.
            states: Its states so far, on the CPU; fresh ones by default.
        """
        self._tables, self._home = model.tables, states or fresh_states(model)
        self._direction = OPTIMIZERS[model.info.optimizer].direction
        device = model.tables["entity"].device
        self._states = {name: state.to(device) for name, state in self._home.items()}

    def step(self, table: str, rows: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Move the given, distinct rows of a table against their gradient."""
        direction = self._direction(self._states.get(table), rows, gradient)
        self._tables[table].index_add_(0, rows, direction, alpha=-learning_rate)

    def fetch(self) -> None:
        """Take over the states that others have changed at home."""
        for name, state in self._states.items():
            if state is not self._home[name]:
                state.copy_(self._home[name])

    def bring_back(self) -> None:
        """Copy the states to where they came from."""
        for name, state in self._states.items():
            if state is not self._home[name]:
                self._home[name].copy_(state)


def fresh_states(model: Model) -> Rows:
    """The states of the optimiser before the first step, by table; none if it has none."""
    if not OPTIMIZERS[model.info.optimizer].has_state:
        return {}
    return {name: torch.zeros_like(table) for name, table in model.tables.items()}
