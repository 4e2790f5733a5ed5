"""Guards: conditions that a new version must meet before it becomes current, one file each.

A guard is a module of this folder with a class or function `guard`. It takes the settings and makes
a `kgsync.state.transaction.Requirement`, which raises a `RejectedError`. Every step uses all
guards. A guard does nothing about pauses: `kgsync.service.rejections` pauses the sync, unless a
user has accepted what the guard rejects.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgsync.service.settings import GuardSettings
    from kgsync.state.transaction import Requirement

__all__ = ["guards"]


def guards(settings: GuardSettings) -> dict[str, Requirement]:
    """All guards of a step by name, in the order of their names.

    Args:
        settings: Their limits.
    """
    names = sorted(file.name for file in iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").guard(settings) for name in names}
