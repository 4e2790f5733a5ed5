"""What the file of an optimiser declares: its torch form, and parts for the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Direction", "OptimizerDeclaration"]


class Direction(Protocol):
    """The torch form."""

    def __call__(self, state: Tensor | None, rows: Tensor, gradient: Tensor) -> Tensor:
        """What to subtract from the given, distinct rows of a table, before the learning rate.

        Args:
            state: A number for every number of the table, zeros at first, changed in place; None
                or anything if the optimiser has no state.
            rows: The rows.
            gradient: Their gradient, which is not changed.
        """


@dataclass(frozen=True)
class OptimizerDeclaration:
    """An optimiser in its two forms, which must agree."""

    name: str
    """As models name it."""
    direction: Direction
    kernels: Mapping[str, Any]
    """Parts for all slots of `kgsync.models.parts.optimizer_kernels`."""
    has_state: bool = False
    """Whether it keeps a number for every number of a table."""
    takes_penalty: bool = False
    """Whether `move` takes an L2 penalty, which a model may have."""
    is_linear: bool = False
    """Whether two steps with the parts of a gradient are as good as one, so that threads may share
    out a batch."""
