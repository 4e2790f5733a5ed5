"""The embedding models. Each has one file, which declares the whole model as `MODEL`.

In: settings and tables of vectors. Out: scores, losses and gradient kernels. May import: common,
errors. Importing a file of this room loads neither torch nor numba.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsync.models.base import Model
    from kgsync.models.declaration import ModelDeclaration
    from kgsync.models.scoring import Scorer
    from kgsync.models.settings import ModelSettings

__all__ = ["MODELS", "model_class", "register", "scorer"]


class _Registry(Mapping[str, "ModelDeclaration"]):
    """The declarations of all files of this folder, which are read when first asked for."""

    def __init__(self) -> None:
        self._found: dict[str, ModelDeclaration] = {}
        self._searched = False

    def __getitem__(self, name: str) -> ModelDeclaration:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def add(self, declaration: ModelDeclaration) -> None:
        self._found[declaration.name] = declaration

    def _all(self) -> dict[str, ModelDeclaration]:
        if not self._searched:
            for file in iter_modules(__path__):
                declared = getattr(import_module(f"{__name__}.{file.name}"), "MODEL", None)
                if declared is not None:
                    self.add(declared)
            self._searched = True
        return self._found


_registry = _Registry()
MODELS: Mapping[str, ModelDeclaration] = _registry
"""By their name in the settings."""


def register(declaration: ModelDeclaration) -> None:
    """Add a model that is not in this folder."""
    _registry.add(declaration)


def model_class(name: str) -> type[Model]:
    """The class of a model; the settings have checked the name."""
    return MODELS[name].model


def scorer(settings: ModelSettings, tables: Mapping[str, Any]) -> Scorer:
    """Scores from tables that are numpy arrays; needs neither torch nor numba."""
    from kgsync.models.scoring import Scorer

    return Scorer(model_class(settings.name)(settings, dict(tables)))
