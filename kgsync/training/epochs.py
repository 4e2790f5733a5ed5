"""The two kinds of epoch: general (all training triples) and change-specific (alg. changespecs)."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from kgsync.common.cost import Cost
from kgsync.errors import TrainingError
from kgsync.graph.living import TripleRows
from kgsync.models.base import Kind, Model, Rows
from kgsync.training.optimizers import RowOptimizer
from kgsync.training.progress import NOT_FINITE
from kgsync.training.samplers import CorrectedSampler, CorruptedSampler
from kgsync.training.settings import Corruption

__all__ = ["Trainer", "moved"]


class Trainer:
    """Runs epochs on one model; holds what they share."""

    def __init__(
        self,
        model: Model,
        train: TripleRows,
        batches: int,
        random: np.random.Generator,
        cost: Cost,
        device: str = "cpu",
        corruption: Corruption = "uniform",
    ) -> None:
        """Prepare for training.

        Args:
            model: The model, on the CPU, changed in place after every epoch.
            train: Rows of the training triples.
            batches: Batches per general epoch.
            random: Source of randomness.
            cost: Counters to increase.
            device: Where torch computes.
            corruption: The method of negative sampling.
        """
        sizes = model.sizes
        self._home, self._model = model, moved(model, device)
        self._device = device
        self._train = train
        self._batches = batches
        self._random = random
        self._cost = cost
        self._optimizer = RowOptimizer(self._model)
        counts = sizes["entity"], sizes["relation"]
        self._corrupted = CorruptedSampler(train, *counts, random, corruption)
        # Elements without a training triple may be drawn or deleted, but keep their vectors.
        self._evident = {
            "entity": _mask(sizes["entity"], train[[0, 2]]).to(device),
            "relation": _mask(sizes["relation"], train[1]).to(device),
        }

    def general_epoch(self, learning_rate: float) -> float:
        """One pass over the shuffled training triples; returns the mean loss per batch."""
        order = self._random.permutation(self._train.shape[1])
        losses = []
        for chosen in np.array_split(order, max(1, min(self._batches, len(order)))):
            positive = self._train[:, chosen]
            negative, possible = self._corrupted.draw(positive)
            losses.append(self._step(positive[:, possible], negative[:, possible], learning_rate))
        self._bring_back()
        return float(np.mean(losses))

    def change_epoch(
        self,
        added: TripleRows,
        deleted: TripleRows,
        corrected: CorrectedSampler,
        learning_rate: float,
    ) -> float:
        """One gradient step over all added and deleted training triples; returns the loss.

        Args:
            added: Added training triples, each paired with a negative.
            deleted: Deleted ones whose terms are active, each the negative of a pair.
            corrected: Samples the positives for the deleted ones.
            learning_rate: Step size.
        """
        if not self._train.shape[1]:
            return 0.0
        negative, possible = self._corrupted.draw(added)
        pairs_true = np.concatenate([corrected.draw(deleted), added[:, possible]], axis=1)
        pairs_false = np.concatenate([deleted, negative[:, possible]], axis=1)
        loss = self._step(pairs_true, pairs_false, learning_rate)
        self._bring_back()
        return loss

    def _step(self, positive: TripleRows, negative: TripleRows, learning_rate: float) -> float:
        """One gradient step over pairs of a positive and a negative triple."""
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
        value = float(total.detach())
        if not math.isfinite(value):
            raise TrainingError(NOT_FINITE)
        torch.autograd.backward(total)
        self._cost.score_evaluations += 2 * pairs
        self._apply("entity", entity_rows, entities, learning_rate)
        self._apply("relation", relation_rows, predicates, learning_rate)
        return value

    def _bring_back(self) -> None:
        for name, table in self._model.tables.items():
            self._home.tables[name].copy_(table)

    def _apply(self, kind: Kind, rows: Tensor, leaves: Rows, learning_rate: float) -> None:
        moving = self._evident[kind][rows]
        for name, leaf in leaves.items():
            assert leaf.grad is not None
            self._optimizer.step(name, rows[moving], leaf.grad[moving], learning_rate)
        self._cost.gradient_steps += int(moving.sum())

    def _leaves(self, kind: Kind, rows: Tensor) -> Rows:
        return {
            name: rows_.requires_grad_() for name, rows_ in self._model.rows(kind, rows).items()
        }


def moved(model: Model, device: str) -> Model:
    """The same model on a device; it shares the tables that are there already."""
    tables = {name: table.to(device) for name, table in model.tables.items()}
    return type(model)(model.settings, tables)


def _gather(leaves: Rows, at: Tensor) -> Rows:
    # The backward pass of embedding() sums by row far faster than that of indexing.
    return {name: functional.embedding(at, leaf) for name, leaf in leaves.items()}


def _mask(size: int, rows: NDArray[np.int64]) -> Tensor:
    mask = torch.zeros(size, dtype=torch.bool)
    mask[torch.from_numpy(rows.reshape(-1))] = True
    return mask
