"""Gradient steps over given pairs on the CPU; the same interface as the torch one."""

from __future__ import annotations

import math

import numpy as np

from kgsync.common.cost import Cost
from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model, Rows
from kgsync.training.cpu.drawing import corruptions_of
from kgsync.training.cpu.layout import parameters_of, tables_of
from kgsync.training.cpu.linking import kernels_of
from kgsync.training.cpu.steps import Learner, Pairs
from kgsync.training.cpu.sums import scratch_for
from kgsync.training.moving import Moving, PairSteps
from kgsync.training.progress import NOT_FINITE

__all__ = ["CpuPairs"]

_NO_TRIPLES = np.empty((3, 0), np.int64)
_NO_ORDER = np.empty(0, np.int32)


class CpuPairs:
    """Takes gradient steps over pairs, in place; rows that may not move are frozen."""

    def __init__(
        self, model: Model, moving: Moving, steps: PairSteps, cost: Cost, states: Rows | None
    ) -> None:
        """Prepare; see `kgsync.training.backends.pair_trainer_for`."""
        tables, sizes = tables_of(model), model.sizes
        self._run_batches = kernels_of(model.settings).run_batches
        # The negatives are given: nothing is sampled here.
        source = corruptions_of(_NO_TRIPLES, sizes["entity"], sizes["relation"])
        sums = tables_of(model, states) if states else tables
        masks = moving.entities, moving.relations
        self._learner = Learner(parameters_of(model), tables, sums, masks, source)
        self._steps, self._cost = steps, cost
        self._scratch = scratch_for(tables, steps.batch)

    def run(self, positive: TripleRows, negative: TripleRows, learning_rate: float) -> float:
        """One step per batch of pairs, in their order; returns the sum of the losses."""
        count = positive.shape[1]
        if not count:
            return 0.0
        true, false = (np.ascontiguousarray(rows.T, np.int32) for rows in (positive, negative))
        bounds = np.append(np.arange(0, count, self._steps.batch), count)
        share = np.float32(self._steps.share)
        pairs = Pairs(true, false, _NO_ORDER, bounds, np.uint64(0), share)
        rate = np.float32(learning_rate)
        loss, scored, moved = self._run_batches(
            self._learner, pairs, 0, 1, rate, False, self._scratch
        )
        self._cost.score_evaluations += scored
        self._cost.gradient_steps += moved
        if not math.isfinite(loss):
            raise TrainingError(NOT_FINITE)
        return float(loss)
