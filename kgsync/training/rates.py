"""The learning rates of a run: those that are set, and the others derived from them."""

from __future__ import annotations

from typing import NamedTuple

from kgsync.models import MODELS
from kgsync.models.settings import ModelSettings
from kgsync.training.settings import TrainingSettings, UpdateSettings, anneals

__all__ = ["ANNEALING", "Rates", "annealing_of", "rates_of"]

ANNEALING = 0.25
"""The share of epochs with a falling rate, where a strategy does not say otherwise."""


class Rates(NamedTuple):
    """Learning rates, each derived from an earlier one where it is not set."""

    training: float
    pretraining: float
    general: float
    change: float


def rates_of(model: ModelSettings, training: TrainingSettings, update: UpdateSettings) -> Rates:
    """The effective learning rates."""
    rate = training.learning_rate or MODELS[model.name].learning_rate
    general = update.general_learning_rate or rate / 5
    return Rates(
        rate,
        update.pretraining_learning_rate or rate,
        general,
        update.change_learning_rate or general / 2,
    )


def annealing_of(training: TrainingSettings, update: UpdateSettings) -> float:
    """The effective share of epochs with a falling rate; the paper has none."""
    if training.annealing is not None:
        return training.annealing
    return ANNEALING if anneals(update.strategy) else 0.0
