"""The compute backend: kernels on the CPU, or torch on any of its devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch

from kgsync.common.cost import Cost
from kgsync.errors import ConfigError
from kgsync.graph.active import TripleRows
from kgsync.models import MODELS
from kgsync.models.base import Model, Rows
from kgsync.models.settings import ModelSettings
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.moving import Moving, PairSteps
from kgsync.training.problem import Problem
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.settings import LearningSettings, RunSettings
from kgsync.training.threads import usable_cpus
from kgsync.training.torch_backend.optimizers import fresh_states
from kgsync.training.torch_backend.pretraining import Pretrainer, PretrainingRates

__all__ = [
    "EpochTrainer",
    "PairTrainer",
    "StartTrainer",
    "pair_trainer_for",
    "pretrainer_for",
    "trainer_for",
    "uses_kernels",
    "warm_up",
]

_FEWEST_TRIPLES_A_THREAD = 2_000
"""With fewer, starting the threads takes longer than an epoch of TransE (a millisecond)."""

_loaded: set[tuple[str, str, bool]] = set()
"""Models whose kernels this process has; name, norm, and whether torch trains them."""


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


class PairTrainer(Protocol):
    """Takes gradient steps over pairs of triples on one model, in place."""

    def run(self, positive: TripleRows, negative: TripleRows, learning_rate: float) -> float:
        """One step per batch of pairs, in their order; returns the sum of the losses.

        Args:
            positive: Positives.
            negative: Their negatives, head -1 where there is none.
            learning_rate: Step size.
        """


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
    wanted = settings.model.name, settings.model.norm, by_torch
    if wanted not in _loaded:
        load_kernels(settings.model, ranking_only=by_torch, waiting=waiting)
        _loaded.add(wanted)


def trainer_for(
    model: Model,
    problem: Problem,
    random: np.random.Generator,
    cost: Cost,
    states: Rows | None = None,
    triples: TripleRows | None = None,
) -> EpochTrainer:
    """A trainer on all training triples, for the backend in the settings.

    Args:
        model: The model, changed in place.
        problem: The version to train on.
        random: Source of randomness.
        cost: Counters to increase.
        states: The optimiser's states so far, changed in place; fresh by default.
        triples: Take these instead of the training triples: the same, some of them repeated.
    """
    run, training = problem.settings.run, problem.settings.training
    train = problem.train if triples is None else triples
    batches, sampling = training.batches, training.negative_sampling
    if uses_kernels(run, model.settings):
        from kgsync.training.cpu.trainer import CpuTrainer

        threads = run.threads or usable_cpus()
        threads = max(1, min(threads, train.shape[1] // _FEWEST_TRIPLES_A_THREAD))
        at_once = training.steps == "pair"
        return CpuTrainer(
            model,
            train,
            batches,
            random,
            cost,
            threads,
            at_once=at_once,
            sampling=sampling,
            states=states,
        )
    from kgsync.training.torch_backend.trainer import Trainer

    return Trainer(model, train, batches, random, cost, _device(run), sampling, states)


def pair_trainer_for(
    model: Model,
    moving: Moving,
    steps: PairSteps,
    run: RunSettings,
    cost: Cost,
    states: Rows | None = None,
) -> PairTrainer:
    """A trainer on given pairs, for the backend in the settings.

    Args:
        model: The model, changed in place.
        moving: Which rows may move.
        steps: How pairs make steps.
        run: Backend and device; one thread is used.
        cost: Counters to increase.
        states: The optimiser's states so far, changed in place; fresh by default.
    """
    states = states or fresh_states(model)
    if uses_kernels(run, model.settings):
        from kgsync.training.cpu.pairs import CpuPairs

        return CpuPairs(model, moving, steps, cost, states)
    from kgsync.training.torch_backend.steps import TorchPairs, TorchSteps

    return TorchPairs(TorchSteps(model, moving, cost, _device(run), states), steps)


def pretrainer_for(
    model: Model, problem: Problem, negatives: KeyedNegatives, cost: Cost
) -> StartTrainer:
    """A pretrainer of initial vectors, for the backend in the settings."""
    run, update = problem.settings.run, problem.settings.update
    rates = PretrainingRates(
        update.pretraining_epochs,
        update.pretraining_negatives,
        problem.rates.pretraining,
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
