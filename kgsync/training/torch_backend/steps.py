"""Gradient steps over pairs with torch: the reference for the kernels, on any device."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from kgsync.common.cost import Cost
from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.models.base import Kind, Model, Rows
from kgsync.training.moving import Moving, PairSteps
from kgsync.training.progress import NOT_FINITE
from kgsync.training.torch_backend.optimizers import RowOptimizer

__all__ = ["TorchPairs", "TorchSteps", "moved"]


class TorchSteps:
    """Takes gradient steps on a copy of a model on a device; `bring_back` copies it home."""

    def __init__(
        self,
        model: Model,
        moving: Moving,
        cost: Cost,
        device: str = "cpu",
        states: Rows | None = None,
    ) -> None:
        """Prepare.

        Args:
            model: The model, on the CPU.
            moving: Which rows may move.
            cost: Counters to increase.
            device: Where torch computes.
            states: The optimiser's states so far, on the CPU; fresh by default.
        """
        self._home, self._model = model, moved(model, device)
        self._device, self._cost = device, cost
        self._optimizer = RowOptimizer(self._model, states)
        self._moving: dict[Kind, Tensor] = {
            "entity": torch.from_numpy(moving.entities).to(device),
            "relation": torch.from_numpy(moving.relations).to(device),
        }

    def step(
        self,
        positive: TripleRows,
        negative: TripleRows,
        learning_rate: float,
        share: float | None = None,
    ) -> float:
        """One gradient step over pairs of a positive and a negative triple; returns the loss.

        Args:
            positive: Positives.
            negative: Their negatives.
            learning_rate: Step size.
            share: Weight of one score in a loss that is averaged; by default of this batch alone.
        """
        pairs = positive.shape[1]
        if pairs == 0:
            return 0.0
        triples = torch.from_numpy(np.concatenate([positive, negative], axis=1))
        heads, relations, tails = triples.to(self._device)
        entity_rows, entity_at = torch.unique(torch.cat([heads, tails]), return_inverse=True)
        relation_rows, relation_at = torch.unique(relations, return_inverse=True)
        entities = self._leaves("entity", entity_rows)
        predicates = self._leaves("relation", relation_rows)
        head = _gather(entities, entity_at[: 2 * pairs])
        tail = _gather(entities, entity_at[2 * pairs :])
        relation = _gather(predicates, relation_at)
        scores = self._model.score(head, relation, tail)
        total = self._model.loss.of_batch(scores[:pairs], scores[pairs:])
        penalties = self._model.penalty(head, relation, tail), self._model.constraint(predicates)
        for penalty in penalties:
            total = total if penalty is None else total + penalty
        if share is not None and not self._model.loss_is_sum:
            total = total * (2 * pairs * share)
        value = float(total.detach())
        if not math.isfinite(value):
            raise TrainingError(NOT_FINITE)
        torch.autograd.backward(total)
        self._cost.score_evaluations += 2 * pairs
        self._apply("entity", entity_rows, entities, learning_rate)
        self._apply("relation", relation_rows, predicates, learning_rate)
        return value

    def fetch(self) -> None:
        """Take over what others have changed at home, where that is another device."""
        for name, table in self._model.tables.items():
            if table is not self._home.tables[name]:
                table.copy_(self._home.tables[name])
        self._optimizer.fetch()

    def bring_back(self) -> None:
        """Copy the vectors, and the optimiser's states, to where they came from."""
        for name, table in self._model.tables.items():
            self._home.tables[name].copy_(table)
        self._optimizer.bring_back()

    def _apply(self, kind: Kind, rows: Tensor, leaves: Rows, learning_rate: float) -> None:
        moving = self._moving[kind][rows]
        for name, leaf in leaves.items():
            if leaf.grad is None:
                continue  # the score does not depend on this table
            self._optimizer.step(name, rows[moving], leaf.grad[moving], learning_rate)
        self._cost.gradient_steps += int(moving.sum())

    def _leaves(self, kind: Kind, rows: Tensor) -> Rows:
        return {
            name: rows_.requires_grad_() for name, rows_ in self._model.rows(kind, rows).items()
        }


class TorchPairs:
    """Takes gradient steps over pairs, in place; rows that may not move are frozen."""

    def __init__(self, steps: TorchSteps, cut: PairSteps) -> None:
        """Prepare; see `kgsync.training.backends.pair_trainer_for`."""
        self._steps, self._cut = steps, cut

    def run(self, positive: TripleRows, negative: TripleRows, learning_rate: float) -> float:
        """One step per batch of pairs, in their order; returns the sum of the losses."""
        loss, batch = 0.0, self._cut.batch
        self._steps.fetch()
        for start in range(0, positive.shape[1], batch):
            part = slice(start, start + batch)
            possible = negative[0, part] >= 0
            pairs = positive[:, part][:, possible], negative[:, part][:, possible]
            loss += self._steps.step(*pairs, learning_rate, self._cut.share)
        self._steps.bring_back()
        return loss


def moved(model: Model, device: str) -> Model:
    """The same model on a device; it shares the tables that are there already."""
    tables = {name: table.to(device) for name, table in model.tables.items()}
    return type(model)(model.settings, tables)


def _gather(leaves: Rows, at: Tensor) -> Rows:
    # The backward pass of embedding() sums by row far faster than that of indexing.
    return {name: functional.embedding(at, leaf) for name, leaf in leaves.items()}
