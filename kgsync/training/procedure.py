"""The steps of learning that a sync and a backtest share, with the same random numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.graph.active import Active
from kgsync.graph.change import ChangeSet
from kgsync.models.base import Model
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.progress import Choice, Observe, TrainingRun, no_observer
from kgsync.training.retraining import retrain_aligned
from kgsync.training.updates import UpdateTask, strategy

__all__ = ["Procedure"]


@dataclass(frozen=True)
class Procedure:
    """Trains and updates models; times the phases and counts the work."""

    phases: Phases = field(default_factory=lambda: Phases(SilentListener()))
    cost: Cost = field(default_factory=Cost)
    observe: Observe = no_observer
    """Sees the model at every validation."""

    def train(self, problem: Problem) -> tuple[Model, TrainingRun]:
        """A new model, trained from scratch."""
        with self.phases("train"):
            return train_offline(problem, self.cost, self.phases.listener.progress, self.observe)

    def carry_over(self, old: Model, before: Active, problem: Problem) -> Model:
        """The old model on the rows of the new version; see `carry_over`."""
        with self.phases("initial vectors"):
            return carry_over(old, before, problem)

    def update(
        self,
        model: Model,
        before: Active,
        change: ChangeSet,
        problem: Problem,
        kept: Kept = NOTHING_KEPT,
    ) -> TrainingRun:
        """Update a model that was carried over, in place.

        Args:
            model: The model, on the rows of the new version.
            before: The elements of the old version.
            change: What changed.
            problem: The new version.
            kept: What the update before has left.
        """
        if not change:
            return TrainingRun(kept=kept)
        task, spent = self._task(model, before, change, problem, kept), self.cost.score_evaluations
        name = problem.settings.update.strategy
        run = strategy(name)(task)
        run.choice = run.choice or Choice(name)
        run.choice = replace(run.choice, scores=self.cost.score_evaluations - spent)
        return run

    def retrain(
        self,
        model: Model,
        before: Active,
        change: ChangeSet,
        problem: Problem,
        kept: Kept = NOTHING_KEPT,
    ) -> TrainingRun:
        """Retrain a model that was carried over, in place, aligned with it; see `update`."""
        return retrain_aligned(self._task(model, before, change, problem, kept))

    def _task(
        self, model: Model, before: Active, change: ChangeSet, problem: Problem, kept: Kept
    ) -> UpdateTask:
        phases, cost = self.phases, self.cost
        return UpdateTask(model, before, change, problem, phases, cost, self.observe, kept)
