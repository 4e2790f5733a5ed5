"""The steps of learning that a sync and a backtest share, with the same random numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.graph.change import ChangeSet
from kgsync.graph.living import Living
from kgsync.models.base import Model
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.progress import Observe, TrainingRun, no_observer
from kgsync.training.starts import carry_over
from kgsync.training.updates import PAPER, UpdateTask, strategy

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

    def carry_over(self, old: Model, before: Living, problem: Problem) -> Model:
        """The old model on the rows of the new version; see `carry_over`."""
        with self.phases("start vectors"):
            return carry_over(old, before, problem)

    def update(
        self, model: Model, before: Living, change: ChangeSet, problem: Problem
    ) -> TrainingRun:
        """Update a model that was carried over, in place."""
        if not change:
            return TrainingRun()
        task = UpdateTask(model, before, change, problem, self.phases, self.cost, self.observe)
        return strategy(PAPER)(task)
