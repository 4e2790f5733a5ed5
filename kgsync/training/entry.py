"""The entry point of training for a sync: sets the threads before it imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases
from kgsync.graph.reading import Reading
from kgsync.training.settings import LearningSettings
from kgsync.training.threads import use_threads

if TYPE_CHECKING:
    from kgsync.training.trained import LearnedVersion, Trained

__all__ = ["adopt_as", "learn_as"]


def learn_as(
    number: int,
    reading: Reading,
    base: LearnedVersion | None,
    settings: LearningSettings,
    phases: Phases,
    cost: Cost,
) -> Trained:
    """Make the model of version `number`; see `kgsync.training.learning.learn`."""
    use_threads(settings.run.threads)
    from kgsync.training.learning import learn
    from kgsync.training.problem import Problem

    return learn(reading, base, Problem.of(reading, settings, number), phases, cost)


def adopt_as(
    number: int,
    reading: Reading,
    vectors: dict[str, tuple[list[str], Any]],
    file: str,
    settings: LearningSettings,
) -> Trained:
    """Make the model of version `number` of given vectors; see `kgsync.training.learning.adopt`."""
    use_threads(settings.run.threads)
    from kgsync.training.learning import adopt
    from kgsync.training.problem import Problem

    return adopt(reading, Problem.of(reading, settings, number), vectors, file)
