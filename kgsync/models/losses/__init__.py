"""The training losses: one file per loss, which declares it as `LOSS`.

A model names its loss. Importing a file of this folder loads neither torch nor numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgsync.common.family import Family

if TYPE_CHECKING:
    from kgsync.models.losses.declaration import LossDeclaration

__all__ = ["LOSSES"]

_family: Family[LossDeclaration] = Family(__name__, __path__, "LOSS")
LOSSES: Mapping[str, LossDeclaration] = _family
"""By the name that models give."""
