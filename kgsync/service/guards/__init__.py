"""Guards: conditions that a new version must meet before it becomes current, one file each.

A guard is a module of this folder with a class or function `guard`. It takes the arguments of
`guards` and makes a `kgsync.state.transaction.Requirement`. Every step uses all guards.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgsync.graph.reading import Reading
    from kgsync.source.settings import ReadingSettings
    from kgsync.state.transaction import Requirement

__all__ = ["guards"]


def guards(settings: ReadingSettings, accepts: Callable[[Reading], bool]) -> list[Requirement]:
    """All guards of a step, in the order of their names.

    Args:
        settings: Their limits.
        accepts: Whether a user has accepted a reading.
    """
    modules = (import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__))
    return [module.guard(settings, accepts) for module in modules]
