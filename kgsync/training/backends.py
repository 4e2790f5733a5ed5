"""Who computes the epochs: kernels on the CPU, or torch."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from kgsync.config import RunSettings, Settings
from kgsync.evaluation.cost import Cost
from kgsync.graph.living import TripleRows
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.training.problem import Problem
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.threads import usable_cpus

__all__ = ["EpochTrainer", "trainer_for", "uses_kernels", "warm_up"]


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
    return run.backend != "torch"


def warm_up(settings: Settings) -> None:
    """Load the kernels, or compile them where that was never done: so no phase has to wait for it.

    Compiled once, they are kept beside the package or in the user's cache.
    """
    if not uses_kernels(settings.run):
        return
    from kgsync.training.cpu.trainer import CpuTrainer

    model = model_class(settings.model.name).random(settings.model, 3, 1, torch.Generator())
    triples = np.array([[0, 1], [0, 0], [1, 2]])
    random = np.random.default_rng(0)
    trainer = CpuTrainer(model, triples, 1, random, Cost())
    trainer.general_epoch(0.0)
    trainer.change_epoch(triples, triples, CorrectedSampler(triples, 1, random), 0.0)
    rows, relation = model.rows("entity", slice(0, 1)), model.rows("relation", slice(0, 1))
    model.score_tails(rows, relation, model.rows("entity", slice(None)))


def trainer_for(
    model: Model, problem: Problem, random: np.random.Generator, cost: Cost
) -> EpochTrainer:
    """A trainer of the backend that the settings choose."""
    run, batches = problem.settings.run, problem.settings.training.batches
    if uses_kernels(run):
        from kgsync.training.cpu.trainer import CpuTrainer

        threads = run.threads or usable_cpus()
        at_once = problem.settings.training.steps == "pair"
        return CpuTrainer(model, problem.train, batches, random, cost, threads, at_once=at_once)
    from kgsync.training.epochs import Trainer

    return Trainer(model, problem.train, batches, random, cost)
