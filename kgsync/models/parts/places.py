"""Positions of new elements where their triples hold exactly: points, or lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Places"]


@dataclass(frozen=True)
class Places:
    """One position per triple: a point, or a line through a point along a unit vector."""

    points: Tensor
    along: Tensor | None

    def where(self, mask: Tensor) -> Places:
        """Some of the places."""
        return Places(self.points[mask], None if self.along is None else self.along[mask])

    def gap(self, vectors: Tensor) -> Tensor:
        """The shortest difference vector from each vector to its position."""
        gap = self.points - vectors
        if self.along is None:
            return gap
        return gap - (gap * self.along).sum(-1, keepdim=True) * self.along
