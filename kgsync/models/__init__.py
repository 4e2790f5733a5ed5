"""The embedding models. Each has one file, which declares the whole model as `MODEL`.

In: settings and tables of vectors. Out: scores, losses and gradient kernels. May import: common,
errors. Importing a file of this room loads neither torch nor numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgsync.common.family import Family

if TYPE_CHECKING:
    from kgsync.models.base import Model
    from kgsync.models.declaration import ModelDeclaration
    from kgsync.models.parts.scoring import Scorer
    from kgsync.models.settings import ModelSettings

__all__ = ["MODELS", "is_registered", "model_class", "register", "scorer"]

_family: Family[ModelDeclaration] = Family(__name__, __path__, "MODEL")
MODELS: Mapping[str, ModelDeclaration] = _family
"""By their name in the settings."""


def register(declaration: ModelDeclaration) -> None:
    """Add a model that is not in this folder."""
    _family.add(declaration)


def is_registered(name: str) -> bool:
    """Whether a model was added by `register`."""
    return _family.was_added(name)


def model_class(name: str) -> type[Model]:
    """The class of a model; the settings have checked the name."""
    return MODELS[name].model


def scorer(settings: ModelSettings, tables: Mapping[str, Any]) -> Scorer:
    """Scores from tables that are numpy arrays; needs neither torch nor numba."""
    from kgsync.models.parts.scoring import Scorer

    return Scorer(model_class(settings.name)(settings, dict(tables)))
