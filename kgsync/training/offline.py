"""Training from scratch (alg. TDSM_offline)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kgsync.common.cost import Cost
from kgsync.models import model_class
from kgsync.models.base import Model, Rows
from kgsync.training.backends import EpochTrainer, trainer_for
from kgsync.training.kept import NOTHING_KEPT
from kgsync.training.problem import Problem
from kgsync.training.progress import (
    BestState,
    Observe,
    Plateau,
    Progress,
    TrainingRun,
    no_observer,
    no_progress,
)
from kgsync.training.rates import annealing_of
from kgsync.training.settings import remembers
from kgsync.training.torch_backend.optimizers import fresh_states
from kgsync.training.work import remember_training

__all__ = ["Fit", "train_offline"]

_LAST_RATE = 0.01
"""Share of the learning rate in the last epoch of annealing."""


def train_offline(
    problem: Problem,
    cost: Cost,
    progress: Progress = no_progress,
    observe: Observe = no_observer,
) -> tuple[Model, TrainingRun]:
    """Train a new model on one version.

    Args:
        problem: The version.
        cost: Counters to increase.
        progress: Told about every epoch.
        observe: Sees the model at every validation.

    Returns:
        The model in its best validated state, and what happened.
    """
    settings, before = problem.settings, cost.score_evaluations
    chosen = model_class(settings.model.name)
    sizes = len(problem.active.entities), len(problem.active.relations)
    model = chosen.random(settings.model, *sizes, problem.seeds.torch("initial vectors"))
    states = fresh_states(model)
    annealing = annealing_of(settings.training, settings.update)
    run = Fit(model, problem, states, annealing, cost, progress, observe).run()
    if remembers(settings.update.strategy):
        spent = cost.score_evaluations - before
        run.kept = remember_training(NOTHING_KEPT.with_states(states), spent, problem)
    return model, run


def _nothing(share: float) -> None:
    """Does nothing."""


@dataclass(frozen=True)
class Fit:
    """Trains a model in place, from the vectors that it has."""

    model: Model
    problem: Problem
    states: Rows
    """The optimiser's; changed in place."""
    annealing: float
    """Epochs with a falling rate at the end, as a share of those before."""
    cost: Cost
    progress: Progress = no_progress
    observe: Observe = no_observer
    after_epoch: Callable[[float], None] = _nothing
    """Called with the share of the learning rate that the epoch had."""

    def run(self) -> TrainingRun:
        """Train at the full rate until that no longer helps, then with a falling one."""
        problem, settings = self.problem, self.problem.settings.training
        random = problem.seeds.numpy("training")
        trainer = trainer_for(self.model, problem, random, self.cost, self.states)
        run, plateau = TrainingRun(), Plateau()
        best = BestState(self.model, settings.patience, run, self.observe, self.states)
        every = settings.validate_every if len(problem.split.validation) else 0
        for epoch in range(1, settings.epochs + 1):
            share = plateau.scale
            run.final_loss = trainer.general_epoch(problem.rates.training * share)
            self.after_epoch(share)
            plateau.see(run.final_loss)
            run.epochs = epoch
            self.progress("training", epoch, settings.epochs)
            if every and epoch % every == 0 and best.see(epoch, problem.validate(self.model)):
                break
        best.restore()
        stopped_early = run.stopped_early
        self._anneal(trainer, best, run)
        run.stopped_early = stopped_early  # whatever annealing was good for
        return run

    def _anneal(self, trainer: EpochTrainer, best: BestState, run: TrainingRun) -> None:
        """Epochs from the best state on, with a falling rate; kept if they are better."""
        problem, settings = self.problem, self.problem.settings.training
        epochs = round(self.annealing * (run.best_epoch or run.epochs))
        for number in range(1, epochs + 1):
            share = 1 + (_LAST_RATE - 1) * number / epochs
            run.final_loss = trainer.general_epoch(problem.rates.training * share)
            self.after_epoch(share)
            run.epochs += 1
            self.progress("annealing", number, epochs)
        if epochs and settings.validate_every and len(problem.split.validation):
            best.see(run.epochs, problem.validate(self.model))
        if epochs:
            best.restore()
