"""Guards: conditions that a new version must meet before it becomes current, one file each.

A guard is a module of this folder with a class or function `guard`; other modules may help. It
takes the settings and makes a `kgsync.state.transaction.Requirement`, which raises a
`RejectedError`. Every step uses all guards. A guard does nothing about pauses:
`kgsync.service.rejections` pauses the sync, unless a user has accepted what the guard rejects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgsync.common.family import makers

if TYPE_CHECKING:
    from kgsync.service.settings import GuardSettings
    from kgsync.state.transaction import Requirement

__all__ = ["guards"]


def guards(settings: GuardSettings) -> dict[str, Requirement]:
    """All guards of a step by name, in the order of their names.

    Args:
        settings: Their limits.
    """
    found = makers(__name__, __path__, "guard")
    return {name: guard(settings) for name, guard in found.items()}
