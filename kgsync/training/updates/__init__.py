"""Update strategies: one file per strategy, all with the same interface.

A strategy is a module of this folder with a function `update`. It takes an `UpdateTask` and changes
the task's model in place. The file name is the name of the strategy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast

from kgsync.training.progress import Observe, TrainingRun, no_observer

if TYPE_CHECKING:
    from kgsync.common.cost import Cost
    from kgsync.common.listener import Phases
    from kgsync.graph.change import ChangeSet
    from kgsync.graph.living import Living
    from kgsync.models.base import Model
    from kgsync.training.problem import Problem

__all__ = ["PAPER", "Strategy", "UpdateTask", "strategies", "strategy"]

PAPER = "paper"


@dataclass(frozen=True)
class UpdateTask:
    """A model to update, and the change."""

    model: Model
    """Its rows are those of the new version; those of surviving elements are carried over."""
    before: Living
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


class Strategy(Protocol):
    """Updates a model to a change."""

    def __call__(self, task: UpdateTask) -> TrainingRun:
        """Change the task's model in place; returns what was done."""


def strategies() -> list[str]:
    """The names of all strategies."""
    return sorted(module.name for module in iter_modules(__path__))


def strategy(name: str) -> Strategy:
    """A strategy by its name; the settings have checked it."""
    return cast("Strategy", import_module(f"{__name__}.{name}").update)
