"""Listeners of a scheduled sync, one file each.

A listener is a module of this folder with a class or function `listener`. It takes the name of a
sync and its status file, and makes a function that takes events.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgsync.common.listener import AnyListener
    from kgsync.service.run_file import RunFile

__all__ = ["run_listeners"]


def run_listeners(name: str, file: RunFile) -> list[AnyListener]:
    """All listeners of one scheduled sync, in the order of their names.

    Args:
        name: What the log calls the sync.
        file: Its status file.
    """
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return [module.listener(name, file) for module in modules]
