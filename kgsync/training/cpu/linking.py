"""The kernels of one model, for epochs and for pretraining, with the model's parts linked in."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kgsync.common.kernels import link
from kgsync.models import MODELS
from kgsync.models.kernels import DEFAULTS
from kgsync.models.loops import NORMS
from kgsync.models.settings import ModelSettings, Norm
from kgsync.training.cpu.elements import train_elements
from kgsync.training.cpu.steps import run_batches

__all__ = ["Kernels", "kernels_of", "label_of"]


class Kernels(NamedTuple):
    """Compiled for one model, its norm, its loss and its optimiser."""

    run_batches: Any
    train_elements: Any


def kernels_of(settings: ModelSettings) -> Kernels:
    """The kernels of a model that has some."""
    return _linked(settings.name, settings.norm)


def label_of(settings: ModelSettings) -> str:
    """A name for what the kernels of a model are compiled for, part of the names of their files."""
    return f"{settings.name}_{settings.norm}" if MODELS[settings.name].has_norm else settings.name


@cache
def _linked(name: str, norm: Norm) -> Kernels:
    declared, label = MODELS[name], label_of(ModelSettings(name, norm=norm))
    given = declared.kernels or {}
    parts = {
        **DEFAULTS,
        **given,
        "NORM": NORMS[norm],
        "LOGISTIC": declared.loss == "logistic",
        "ADAGRAD": declared.optimizer == "adagrad",
        "CONSTRAINED": "add_constraint" in given,
        "BY_PAIR": declared.steps_by_pair,
    }
    return Kernels(*link([run_batches, train_elements], parts, label))
