"""The compute backend: kernels on the CPU, or torch on any of its devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch

from kgsync.common.cost import Cost
from kgsync.errors import ConfigError
from kgsync.graph.living import TripleRows
from kgsync.models import MODELS
from kgsync.models.base import Model
from kgsync.models.settings import ModelSettings
from kgsync.training.evidence import Evidence, KeyedNegatives
from kgsync.training.pretraining import Pretrainer, PretrainingRates
from kgsync.training.problem import Problem
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.settings import LearningSettings, RunSettings
from kgsync.training.threads import usable_cpus

__all__ = [
    "EpochTrainer",
    "StartTrainer",
    "pretrainer_for",
    "trainer_for",
    "uses_kernels",
    "warm_up",
]

_FEWEST_TRIPLES_A_THREAD = 2_000
"""With fewer, starting the threads takes longer than an epoch of TransE (a millisecond)."""


class EpochTrainer(Protocol):
    """Runs epochs on one model, in place."""

    def general_epoch(self, learning_rate: float) -> float:
        """One pass over the shuffled training triples; returns the mean loss per batch."""

    def change_epoch(
        self,
        added: TripleRows,
        deleted: TripleRows,
        corrected: CorrectedSampler,
        learning_rate: float,
    ) -> float:
        """One gradient step over all added and deleted training triples; returns the loss."""


class StartTrainer(Protocol):
    """Pretrains the initial vectors of one model's new elements, in place."""

    def train(self, evidence: Evidence) -> None:
        """Train elements that do not depend on each other; their dependencies are trained."""


def uses_kernels(run: RunSettings, model: ModelSettings) -> bool:
    """Whether the kernels compute, rather than torch."""
    has_kernels = MODELS[model.name].kernels is not None
    return has_kernels and run.backend != "torch" and run.device == "cpu"


def warm_up(settings: LearningSettings, waiting: Callable[[str], None] = lambda _: None) -> None:
    """Load the kernels, or compile them where that was never done: so no phase has to wait for it.

    Compiled once, they are kept beside the package or in the user's cache.

    Args:
        settings: The model and the backend.
        waiting: Called with a message before compiling.

    Raises:
        ConfigError: Torch cannot use the device here.
    """
    from kgsync.training.cpu.compiling import load_kernels

    by_torch = not uses_kernels(settings.run, settings.model)
    if by_torch:
        _device(settings.run)
    load_kernels(settings.model, ranking_only=by_torch, waiting=waiting)


def trainer_for(
    model: Model, problem: Problem, random: np.random.Generator, cost: Cost
) -> EpochTrainer:
    """A trainer for the backend in the settings."""
    run, training = problem.settings.run, problem.settings.training
    batches, corruption = training.batches, training.negative_sampling
    if uses_kernels(run, model.settings):
        from kgsync.training.cpu.trainer import CpuTrainer

        threads = run.threads or usable_cpus()
        threads = max(1, min(threads, problem.train.shape[1] // _FEWEST_TRIPLES_A_THREAD))
        at_once = training.steps == "pair"
        return CpuTrainer(
            model,
            problem.train,
            batches,
            random,
            cost,
            threads,
            at_once=at_once,
            corruption=corruption,
        )
    from kgsync.training.epochs import Trainer

    return Trainer(model, problem.train, batches, random, cost, _device(run), corruption)


def pretrainer_for(
    model: Model, problem: Problem, negatives: KeyedNegatives, cost: Cost
) -> StartTrainer:
    """A pretrainer of initial vectors, for the backend in the settings."""
    run, update = problem.settings.run, problem.settings.update
    rates = PretrainingRates(
        update.pretraining_epochs,
        update.pretraining_negatives,
        problem.settings.rates().pretraining,
    )
    if uses_kernels(run, model.settings):
        from kgsync.training.cpu.pretraining import CpuPretrainer

        return CpuPretrainer(model, negatives, rates, cost, run.threads or usable_cpus())
    return Pretrainer(model, negatives, rates, cost, _device(run))


def _device(run: RunSettings) -> str:
    """The device of the settings.

    Raises:
        ConfigError: Torch cannot use it here.
    """
    try:
        torch.zeros(1, device=run.device).sum().item()
    except (AssertionError, ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"run: device {run.device!r} cannot be used here ({reason}); "
            f"available: {', '.join(_available())}"
        ) from None
    return run.device


def _available() -> list[str]:
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(f"cuda:{number}" for number in range(cuda)), *mps]
