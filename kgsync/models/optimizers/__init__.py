"""The optimisers: one file per optimiser, which declares it as `OPTIMIZER`.

A model names its optimiser. Importing a file of this folder loads neither torch nor numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kgsync.common.family import Family

if TYPE_CHECKING:
    from kgsync.models.optimizers.declaration import OptimizerDeclaration

__all__ = ["OPTIMIZERS"]

_family: Family[OptimizerDeclaration] = Family(__name__, __path__, "OPTIMIZER")
OPTIMIZERS: Mapping[str, OptimizerDeclaration] = _family
"""By the name that models give."""
