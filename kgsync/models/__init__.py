"""The scoring models, one file each. This table imports none of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from kgsync.models.base import Model

__all__ = ["MODELS", "ModelInfo", "model_class"]


@dataclass(frozen=True)
class ModelInfo:
    """Where a model is, and the paper's choices for it."""

    where: str
    """`module:Class`."""
    optimizer: Literal["sgd", "adagrad"]
    learning_rate: float
    """Of training from scratch; updates derive theirs from it."""
    dimension: int = 100


def _translational(where: str) -> ModelInfo:
    return ModelInfo(where, "sgd", 0.001)


def _semantic(where: str, dimension: int = 100) -> ModelInfo:
    return ModelInfo(where, "adagrad", 0.1, dimension)


MODELS: dict[str, ModelInfo] = {
    "analogy": _semantic("kgsync.models.analogy:Analogy"),
    "complex": _semantic("kgsync.models.analogy:ComplEx"),
    "distmult": _semantic("kgsync.models.distmult:DistMult"),
    "rescal": _semantic("kgsync.models.rescal:Rescal", dimension=50),
    "transd": _translational("kgsync.models.transd:TransD"),
    "transe": _translational("kgsync.models.transe:TransE"),
    "transh": _translational("kgsync.models.transh:TransH"),
}
"""By their name in the settings."""


def model_class(name: str) -> type[Model]:
    """The class of a model; the settings have checked the name."""
    module, _, attribute = MODELS[name].where.partition(":")
    return cast("type[Model]", getattr(import_module(module), attribute))
