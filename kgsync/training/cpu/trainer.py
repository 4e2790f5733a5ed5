"""Epochs on the CPU; the same interface as the torch trainer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kgsync.common.cost import Cost
from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model, Rows
from kgsync.models.losses import LOSSES
from kgsync.models.optimizers import OPTIMIZERS
from kgsync.training.cpu.drawing import corruptions_of, draw_all
from kgsync.training.cpu.layout import parameters_of, tables_of
from kgsync.training.cpu.linking import kernels_of
from kgsync.training.cpu.randomness import shuffle
from kgsync.training.cpu.steps import Learner, Pairs
from kgsync.training.cpu.sums import scratch_for
from kgsync.training.moving import with_training_triples
from kgsync.training.progress import NOT_FINITE
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.settings import NegativeSampling
from kgsync.training.threads import on_threads
from kgsync.training.torch_backend.optimizers import fresh_states

__all__ = ["CpuTrainer"]


class CpuTrainer:
    """Runs epochs on one model; holds what they share."""

    def __init__(
        self,
        model: Model,
        train: TripleRows,
        batches: int,
        random: np.random.Generator,
        cost: Cost,
        threads: int = 1,
        *,
        at_once: bool = False,
        sampling: NegativeSampling = "uniform",
        states: Rows | None = None,
    ) -> None:
        """Prepare for training.

        Args:
            model: The model, changed in place.
            train: Rows of the training triples.
            batches: Batches per general epoch; threads share them out where SGD sums losses.
            random: Source of randomness.
            cost: Counters to increase.
            threads: Threads that take batches, or parts of them, in turn, without locks.
            at_once: Take a step after every pair instead of once per batch; for SGD only.
            sampling: The method of negative sampling.
            states: The optimiser's states so far, changed in place; fresh by default.
        """
        tables, optimizer = tables_of(model), OPTIMIZERS[model.info.optimizer]
        self._run_batches = kernels_of(model.settings).run_batches
        states = states or fresh_states(model)
        counts = model.sizes["entity"], model.sizes["relation"]
        moving = with_training_triples(train, *counts)
        source = corruptions_of(train, *counts, sampling)
        masks = moving.entities, moving.relations
        # Nobody looks at states if there are none.
        kept = tables_of(model, states) if states else tables
        self._learner = Learner(parameters_of(model), tables, kept, masks, source)
        self._train = np.ascontiguousarray(train.T, np.int32)
        count = len(self._train)
        self._order = np.arange(count, dtype=np.int32)
        self._batches = max(1, min(batches, count))
        # Threads with a whole batch each do not see each other's steps: two learned visibly less in
        # the first epochs than one, and as much with half a batch each (TransH's constraint then
        # counts once a part). Means over a batch cannot be shared out, nor Adagrad's steps.
        shares = threads if optimizer.is_linear and LOSSES[model.info.loss].is_sum else 1
        parts = max(1, min(shares * batches, count))
        lengths = [count // parts + (i < count % parts) for i in range(parts)]
        self._bounds = np.cumsum([0, *lengths])
        threads = max(1, min(threads, parts))
        self._scratch = [scratch_for(tables, max(lengths)) for _ in range(threads)]
        self._random, self._cost, self._at_once = random, cost, at_once

    def general_epoch(self, learning_rate: float) -> float:
        """One pass over the shuffled training triples; returns the mean loss per batch."""
        order_key, seed = self._random.integers(2**63, size=2, dtype=np.uint64)
        shuffle(self._order, order_key)
        pairs = Pairs(self._train, _NONE, self._order, self._bounds, seed, _AVERAGE)
        rate, threads = np.float32(learning_rate), len(self._scratch)

        def run(number: int) -> Any:
            scratch = self._scratch[number]
            return self._run_batches(
                self._learner, pairs, number, threads, rate, self._at_once, scratch
            )

        return self._noted(on_threads(run, threads)) / self._batches

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
        if not len(self._train):
            return 0.0
        seed = np.uint64(self._random.integers(0, 2**63))
        negative = draw_all(np.ascontiguousarray(added.T, np.int32), self._learner.source, seed)
        true = np.concatenate([corrected.draw(deleted), added], axis=1).T
        false = np.concatenate([deleted.T.astype(np.int32), negative])
        return self.step(true, false, learning_rate)

    def step(self, true: Any, false: Any, learning_rate: float) -> float:
        """One gradient step over pairs; a pair whose negative has head -1 is skipped."""
        if not len(true):
            return 0.0
        true, false = (np.ascontiguousarray(rows, np.int32) for rows in (true, false))
        pairs = Pairs(true, false, self._order, np.array([0, len(true)]), _ZERO, _AVERAGE)
        scratch = scratch_for(self._learner.tables, len(true))
        rate = np.float32(learning_rate)
        return self._noted([self._run_batches(self._learner, pairs, 0, 1, rate, False, scratch)])

    def _noted(self, results: list[Any]) -> float:
        """Count the work of the threads; returns their losses together."""
        losses, scored, moved = zip(*results, strict=True)
        self._cost.score_evaluations += sum(scored)
        self._cost.gradient_steps += sum(moved)
        total = float(sum(losses))
        if not math.isfinite(total):
            raise TrainingError(NOT_FINITE)
        return total


_NONE = np.empty((0, 3), np.int32)
_ZERO = np.uint64(0)
_AVERAGE = np.float32(0)
