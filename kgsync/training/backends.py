"""Who computes the epochs: kernels on the CPU, or torch."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kgsync.config import RunSettings
from kgsync.evaluation.cost import Cost
from kgsync.graph.living import TripleRows
from kgsync.models.base import Model
from kgsync.training.problem import Problem
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.threads import usable_cpus

__all__ = ["EpochTrainer", "trainer_for", "uses_kernels"]


class EpochTrainer(Protocol):
    """Runs epochs on one model, in place."""

    def general_epoch(self, learning_rate: float) -> float:
        """One pass over the training triples in shuffled batches; returns the mean loss a batch."""

    def change_epoch(
        self,
        added: TripleRows,
        deleted: TripleRows,
        corrected: CorrectedSampler,
        learning_rate: float,
    ) -> float:
        """One gradient step over all added and deleted training triples; returns the loss."""


def uses_kernels(run: RunSettings) -> bool:
    """Whether the kernels compute, rather than torch."""
    return run.backend == "cpu" or (run.backend == "auto" and run.device == "cpu")


def trainer_for(
    model: Model, problem: Problem, random: np.random.Generator, cost: Cost
) -> EpochTrainer:
    """A trainer of the backend that the settings choose."""
    run, batches = problem.settings.run, problem.settings.training.batches
    if uses_kernels(run):
        from kgsync.training.cpu.trainer import CpuTrainer

        threads = run.threads or usable_cpus()
        return CpuTrainer(model, problem.train, batches, random, cost, threads)
    from kgsync.training.epochs import Trainer

    return Trainer(model, problem.train, batches, random, cost)
