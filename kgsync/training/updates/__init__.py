"""Update strategies: one file per strategy, all with the same interface.

A strategy is a module of this folder with a function `update`. It takes an `UpdateTask` and changes
the task's model in place. The file name is the name of the strategy: the setting `update.strategy`
allows every file of this folder, and shows the first line of its docstring. Those that `auto`
chooses from (local, wide, retrain) also have a function `predicted_scores`. A file may say
`ANNEALS = False` or `REMEMBERS = False`; see `kgsync.training.settings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.progress import Observe, TrainingRun, no_observer

if TYPE_CHECKING:
    from kgsync.common.cost import Cost
    from kgsync.common.listener import Phases
    from kgsync.graph.active import Active
    from kgsync.graph.change import ChangeSet
    from kgsync.models.base import Model
    from kgsync.training.problem import Problem

__all__ = ["Prediction", "Strategy", "UpdateTask", "predicted_scores", "strategy"]


@dataclass(frozen=True)
class UpdateTask:
    """A model to update, and the change."""

    model: Model
    """Its rows are those of the new version; those of surviving elements are carried over."""
    before: Active
    """The elements of the old version."""
    change: ChangeSet
    problem: Problem
    """The new version."""
    phases: Phases
    """Times the phases and passes progress on."""
    cost: Cost
    """Counters to increase."""
    observe: Observe = no_observer
    """Sees the model at every validation."""
    kept: Kept = NOTHING_KEPT
    """What the updates before have left."""


class Strategy(Protocol):
    """Updates a model to a change."""

    def __call__(self, task: UpdateTask) -> TrainingRun:
        """Change the task's model in place; returns what was done."""


class Prediction(Protocol):
    """Predicts what an update takes."""

    def __call__(self, change: ChangeSet, problem: Problem, kept: Kept) -> int:
        """The score evaluations of an update to a change, roughly."""


def strategy(name: str) -> Strategy:
    """A strategy by its name; the settings have checked it."""
    return cast("Strategy", import_module(f"{__name__}.{name}").update)


def predicted_scores(name: str) -> Prediction:
    """What predicts the score evaluations of a strategy, by its name."""
    return cast("Prediction", import_module(f"{__name__}.{name}").predicted_scores)
