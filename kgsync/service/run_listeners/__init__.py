"""Listeners of a scheduled sync, one file each.

A listener is a module of this folder with a class or function `listener`; other modules may help.
It takes the name of a sync and its status file, and makes a function that takes events. It writes
nothing before the first event: another process may be running the sync.

A listener may keep files of its own in `RunFile.folder`, the state directory. If it cannot write
them on a phase or on progress, it must not raise the error: that would end the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgsync.common.family import makers

if TYPE_CHECKING:
    from kgsync.common.listener import AnyListener
    from kgsync.service.run_file import RunFile

__all__ = ["run_listeners"]


def run_listeners(name: str, file: RunFile) -> dict[str, AnyListener]:
    """All listeners of one scheduled sync by name, in the order of their names.

    Args:
        name: What the log calls the sync.
        file: Its status file.
    """
    found = makers(__name__, __path__, "listener")
    return {each: listener(name, file) for each, listener in found.items()}
