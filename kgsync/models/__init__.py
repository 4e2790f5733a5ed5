"""The scoring models, one file each. This table imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from kgsync.models.base import Model

__all__ = ["MODELS", "model_class"]

MODELS: dict[str, str] = {
    "distmult": "kgsync.models.distmult:DistMult",
    "transe": "kgsync.models.transe:TransE",
}
"""Name in the settings -> `module:Class`."""


def model_class(name: str) -> type[Model]:
    """The class of a model; the settings have checked the name."""
    module, _, attribute = MODELS[name].partition(":")
    return cast("type[Model]", getattr(import_module(module), attribute))
