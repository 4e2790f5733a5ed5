"""Pre-training of start vectors: only the new elements move, everything else is frozen.

All elements of one kind and depth are trained together. Each has its own loss, learning rate,
optimiser state, best vector and random numbers, so the result is the same as one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kgsync.evaluation.cost import Cost
from kgsync.models.base import Model, Rows
from kgsync.training.evidence import Evidence, KeyedNegatives
from kgsync.training.optimizers import adagrad_step

__all__ = ["PretrainingRates", "pretrain"]

_FALL, _WAIT, _DECAY = 0.01, 5, 0.5


@dataclass(frozen=True)
class PretrainingRates:
    """How long and how fast (the paper's initTimes, initNegs, initLR)."""

    epochs: int
    negatives: int
    learning_rate: float


def pretrain(
    model: Model,
    evidence: Evidence,
    negatives: KeyedNegatives,
    rates: PretrainingRates,
    cost: Cost,
) -> None:
    """Train the vectors of new elements, none of which needs another, in place.

    Args:
        model: The model; only the rows of the elements change.
        evidence: The elements and their informative triples.
        negatives: Draws false triples, keyed by element.
        rates: How long and how fast.
        cost: Counters to increase.
    """
    run = _Run(model, evidence, rates)
    for epoch in range(rates.epochs):
        active = evidence.where(run.active.numpy()[evidence.owner])
        if not active.triples.shape[1]:
            break
        false = negatives.draw(active, rates.negatives, epoch)
        leaves = {name: rows.clone().requires_grad_() for name, rows in run.vectors.items()}
        positive = _score(model, active, leaves, active.triples)
        negative = torch.stack([_score(model, active, leaves, t) for t in _draws(false.triples)])
        owner = torch.from_numpy(active.owner)
        losses = model.loss.by_owner(positive, negative, false.possible, owner, len(evidence.rows))
        cost.score_evaluations += positive.numel() + negative.numel()
        run.note(losses.detach())
        torch.autograd.backward(losses.sum())
        cost.gradient_steps += run.step(leaves)
    rows = torch.from_numpy(evidence.rows)
    for name, vectors in run.best_vectors.items():
        model.tables[name][rows] = vectors


class _Run:
    """Where each element stands."""

    def __init__(self, model: Model, evidence: Evidence, rates: PretrainingRates) -> None:
        count = len(evidence.rows)
        self.vectors = model.rows(evidence.kind, torch.from_numpy(evidence.rows))
        self.best_vectors = {name: rows.clone() for name, rows in self.vectors.items()}
        self.active = torch.ones(count, dtype=torch.bool)
        self._adagrad = model.info.optimizer == "adagrad"
        self._squares = {name: torch.zeros_like(rows) for name, rows in self.vectors.items()}
        self._rate = torch.full((count, 1), rates.learning_rate)
        self._best = torch.full((count,), torch.inf)
        self._reference = torch.full((count,), torch.inf)
        self._waited = torch.zeros(count, dtype=torch.int64)

    def note(self, losses: Tensor) -> None:
        """Keep the best vectors, slow down where the loss stands still, stop where it is zero."""
        better = self.active & (losses < self._best)
        self._best[better] = losses[better]
        for name, rows in self.best_vectors.items():
            rows[better] = self.vectors[name][better]
        fell = losses < self._reference * (1 - _FALL)
        self._reference[fell] = losses[fell]
        self._waited = torch.where(fell, 0, self._waited + 1)
        slow = self._waited >= _WAIT
        self._rate[slow] *= _DECAY
        self._waited[slow] = 0
        self.active &= losses > 0

    def step(self, leaves: Rows) -> int:
        """Move the active elements against their gradients; returns how many."""
        active = self.active
        for name, leaf in leaves.items():
            assert leaf.grad is not None
            gradient = leaf.grad[active]
            if self._adagrad:
                gradient = adagrad_step(self._squares[name], active, gradient)
            self.vectors[name][active] -= self._rate[active] * gradient
        return int(active.sum())


def _score(model: Model, evidence: Evidence, leaves: Rows, triples: np.ndarray) -> Tensor:
    """Scores with the leaves in the place of the elements' own rows."""
    owner = torch.from_numpy(evidence.owner)
    own = {name: rows[owner] for name, rows in leaves.items()}
    heads, relations, tails = (torch.from_numpy(column) for column in triples)
    head, tail = model.rows("entity", heads), model.rows("entity", tails)
    if evidence.kind == "relation":
        return model.score(head, own, tail)
    row = torch.from_numpy(evidence.row)
    head, tail = _replaced(head, own, heads == row), _replaced(tail, own, tails == row)
    return model.score(head, model.rows("relation", relations), tail)


def _replaced(rows: Rows, own: Rows, where: Tensor) -> Rows:
    return {name: torch.where(where[:, None], own[name], table) for name, table in rows.items()}


def _draws(triples: np.ndarray) -> list[np.ndarray]:
    return [triples[:, draw] for draw in range(triples.shape[1])]
