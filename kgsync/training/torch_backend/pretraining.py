"""Pretraining of initial vectors: only the new elements move, everything else is frozen.

All elements of one kind and depth are trained together. Each has its own loss, learning rate,
optimiser state, best vector and random numbers, so the result is the same as one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from kgsync.common.cost import Cost
from kgsync.models.base import Model, Rows
from kgsync.models.optimizers import OPTIMIZERS
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.torch_backend.steps import moved

__all__ = [
    "DECAY",
    "FALL",
    "WAIT",
    "Pretrainer",
    "PretrainingRates",
    "triples_at_a_time",
]

FALL, WAIT, DECAY = 0.01, 5, 0.5
"""The learning rate decays where the loss has not fallen by that share for so many epochs."""
_NUMBERS_AT_A_TIME = 5_000_000
"""Of the widest table: 50,000 triples of vectors of 100 numbers, fewer of RESCAL's matrices."""


@dataclass(frozen=True)
class PretrainingRates:
    """How long and how fast (the paper's initTimes, initNegs, initLR)."""

    epochs: int
    negatives: int
    learning_rate: float


def triples_at_a_time(model: Model) -> int:
    """Of how many triples the vectors are gathered together."""
    return max(1, _NUMBERS_AT_A_TIME // max(table.shape[1] for table in model.tables.values()))


class Pretrainer:
    """Trains the vectors of new elements of one model, in place; all other rows stay."""

    def __init__(
        self,
        model: Model,
        negatives: KeyedNegatives,
        rates: PretrainingRates,
        cost: Cost,
        device: str = "cpu",
    ) -> None:
        """Prepare for training.

        Args:
            model: The model, on the CPU.
            negatives: Samples negatives, keyed by element.
            rates: How long and how fast.
            cost: Counters to increase.
            device: Where torch computes.
        """
        self._home, self._model = model, moved(model, device)
        self._negatives = negatives
        self._rates = rates
        self._cost = cost
        self._device = device

    def train(self, evidence: Evidence) -> None:
        """Train elements that do not depend on each other; train their dependencies first.

        Args:
            evidence: The elements and their informative triples.
        """
        for block in evidence.blocks(triples_at_a_time(self._home)):
            self._train(block)

    def _train(self, evidence: Evidence) -> None:
        model, device = self._model, self._device
        rows = torch.from_numpy(evidence.rows)
        there = rows.to(device)
        for name, vectors in self._home.rows(evidence.kind, rows).items():
            model.tables[name][there] = vectors.to(device)
        run = _Run(model.rows(evidence.kind, there), self._rates, model.info.optimizer)
        for epoch in range(self._rates.epochs):
            active = evidence.where(run.active.cpu().numpy()[evidence.owner])
            if not active.triples.shape[1]:
                break
            self._epoch(run, active, epoch)
        for name, vectors in run.best_vectors.items():
            model.tables[name][there] = vectors
            self._home.tables[name][rows] = vectors.cpu()

    def _epoch(self, run: _Run, active: Evidence, epoch: int) -> None:
        model, device = self._model, self._device
        false = self._negatives.draw(active, self._rates.negatives, epoch)
        leaves = {name: rows.clone().requires_grad_() for name, rows in run.vectors.items()}
        positive = _score(model, active, leaves, active.triples, device)
        negative = torch.stack(
            [_score(model, active, leaves, drawn, device) for drawn in _draws(false.triples)]
        )
        owner, possible = torch.from_numpy(active.owner).to(device), false.possible.to(device)
        losses = model.loss.by_owner(positive, negative, possible, owner, len(active.rows))
        self._cost.score_evaluations += positive.numel() + negative.numel()
        run.note(losses.detach())
        torch.autograd.backward(losses.sum())
        self._cost.gradient_steps += run.step(leaves)


class _Run:
    """The training state of each element."""

    def __init__(self, vectors: Rows, rates: PretrainingRates, optimizer: str) -> None:
        some = next(iter(vectors.values()))
        count = len(some)
        self.vectors = vectors
        self.best_vectors = {name: rows.clone() for name, rows in vectors.items()}
        self.active = some.new_ones(count, dtype=torch.bool)
        self._direction = OPTIMIZERS[optimizer].direction
        self._states = {name: torch.zeros_like(rows) for name, rows in vectors.items()}
        self._rate = some.new_full((count, 1), rates.learning_rate)
        self._best = some.new_full((count,), torch.inf)
        self._reference = some.new_full((count,), torch.inf)
        self._waited = some.new_zeros(count, dtype=torch.int64)

    def note(self, losses: Tensor) -> None:
        """Keep the best vectors, lower the rate where the loss stagnates, stop where it is zero."""
        better = self.active & (losses < self._best)
        self._best[better] = losses[better]
        for name, rows in self.best_vectors.items():
            rows[better] = self.vectors[name][better]
        fell = losses < self._reference * (1 - FALL)
        self._reference[fell] = losses[fell]
        self._waited = torch.where(fell, 0, self._waited + 1)
        slow = self._waited >= WAIT
        self._rate[slow] *= DECAY
        self._waited[slow] = 0
        self.active &= losses > 0

    def step(self, leaves: Rows) -> int:
        """Move the active elements against their gradients; returns how many."""
        active = self.active
        for name, leaf in leaves.items():
            if leaf.grad is None:
                continue  # the score does not depend on this table
            direction = self._direction(self._states[name], active, leaf.grad[active])
            self.vectors[name][active] -= self._rate[active] * direction
        return int(active.sum())


def _score(
    model: Model, evidence: Evidence, leaves: Rows, triples: np.ndarray, device: str
) -> Tensor:
    """Scores with the leaves in the place of the elements' own rows."""
    owner = torch.from_numpy(evidence.owner).to(device)
    # The backward pass of embedding() sums by row far faster than that of indexing.
    own = {name: functional.embedding(owner, rows) for name, rows in leaves.items()}
    heads, relations, tails = (torch.from_numpy(column).to(device) for column in triples)
    head, tail = model.rows("entity", heads), model.rows("entity", tails)
    if evidence.kind == "relation":
        return model.score(head, own, tail)
    row = torch.from_numpy(evidence.row).to(device)
    head, tail = _replaced(head, own, heads == row), _replaced(tail, own, tails == row)
    return model.score(head, model.rows("relation", relations), tail)


def _replaced(rows: Rows, own: Rows, where: Tensor) -> Rows:
    return {name: torch.where(where[:, None], own[name], table) for name, table in rows.items()}


def _draws(triples: np.ndarray) -> list[np.ndarray]:
    return [triples[:, draw] for draw in range(triples.shape[1])]
