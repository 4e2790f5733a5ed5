"""The kernels of one model, for epochs and for pretraining, with the model's parts linked in."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from kgsync.common.kernels import link
from kgsync.models import MODELS, is_registered
from kgsync.models.losses import LOSSES
from kgsync.models.optimizers import OPTIMIZERS
from kgsync.models.parts.kernels import DEFAULTS
from kgsync.models.parts.loops import NORMS
from kgsync.models.settings import ModelSettings, Norm
from kgsync.training.cpu.plugin_kernels import digest_of_plugin
from kgsync.training.cpu.pretraining_kernels import train_elements
from kgsync.training.cpu.steps import run_batches

__all__ = ["PLUGIN", "Kernels", "kernels_of", "label_of"]

PLUGIN = "~"
"""In a label, before the digest of what a registered model is made of."""


class Kernels(NamedTuple):
    """Compiled for one model, its norm, its loss and its optimiser."""

    run_batches: Any
    train_elements: Any


def kernels_of(settings: ModelSettings) -> Kernels:
    """The kernels of a model that has some."""
    return _linked(settings.name, settings.norm, label_of(settings))


def label_of(settings: ModelSettings) -> str:
    """A name for what the kernels of a model are compiled for, part of the names of their files."""
    name = settings.name
    label = f"{name}_{settings.norm}" if MODELS[name].has_norm else name
    if is_registered(name):
        return f"{re.sub(r'[^0-9A-Za-z_]', '_', label)}{PLUGIN}{digest_of_plugin(name)}"
    return label


@cache
def _linked(name: str, norm: Norm, label: str) -> Kernels:
    declared = MODELS[name]
    optimizer = OPTIMIZERS[declared.optimizer]
    given = declared.kernels or {}
    parts = {
        **DEFAULTS,
        **LOSSES[declared.loss].kernels,
        **optimizer.kernels,
        **given,
        "NORM": NORMS[norm],
        "HAS_STATE": optimizer.has_state,
        "CONSTRAINED": "add_constraint" in given,
        "BY_PAIR": declared.steps_by_pair,
    }
    return Kernels(*link([run_batches, train_elements], parts, label))
