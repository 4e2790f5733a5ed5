"""Slow training on whole tables with torch's own autograd and optimisers, to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from kgsync.graph.active import TripleRows
from kgsync.models.base import Model, Rows


def torch_optimizer(name: str, tables: Iterable[Tensor]) -> torch.optim.Optimizer:
    """The optimiser of that name; its rate is set at every step."""
    made: torch.optim.Optimizer = import_module(f"tests.models.optimizer_{name}").create(tables)
    return made


class Reference:
    """A copy of a model that is trained pair by pair, with gradients for whole tables."""

    def __init__(self, model: Model, optimizer: str) -> None:
        """Copy the model's tables."""
        leaves = {name: table.clone().requires_grad_() for name, table in model.tables.items()}
        self._model = type(model)(model.settings, leaves)
        self._optimizer = torch_optimizer(optimizer, leaves.values())

    @property
    def tables(self) -> Rows:
        """The tables as they are now."""
        return {name: table.detach() for name, table in self._model.tables.items()}

    def objective(self, true: TripleRows, false: TripleRows) -> Tensor:
        """Loss and penalty of a batch of pairs."""
        model = self._model
        heads, relations, tails = torch.from_numpy(np.concatenate([true, false], axis=1))
        head, tail = model.rows("entity", heads), model.rows("entity", tails)
        relation = model.rows("relation", relations)
        scores = model.score(head, relation, tail)
        loss = model.loss.of_batch(scores[: true.shape[1]], scores[true.shape[1] :])
        used = model.rows("relation", torch.unique(relations))
        penalties = model.penalty(head, relation, tail), model.constraint(used)
        return sum((penalty for penalty in penalties if penalty is not None), start=loss)

    def step(self, true: TripleRows, false: TripleRows, learning_rate: float) -> float:
        """One gradient step; returns the loss before it."""
        self._optimizer.param_groups[0]["lr"] = learning_rate
        self._optimizer.zero_grad()
        objective = self.objective(true, false)
        torch.autograd.backward(objective)
        self._optimizer.step()
        return objective.item()
