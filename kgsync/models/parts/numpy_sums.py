"""Sums over the coordinates of points and of every row of a table, by numpy alone.

The same terms are added in the same order for every row, so equal rows get equal sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.models.parts.arrays import Array

__all__ = ["Projections", "sums_by_numpy"]

_ROWS = 4096  # at a time: a block of them stays in the second-level cache
_TINY = 1e-12

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Projections:
    """How relations see the rows x of a table: x + a v, v being the relation's direction."""

    group: Array
    """For each point the number of its relation."""
    directions: Array
    """v, one row per relation; x is cut to its width, or padded with zeros."""
    across: Array | None = None
    """With a row y for each x, a = y·x and the sum is brought to length one; else a = -(v·x)."""


def sums_by_numpy(
    points: Numbers,
    others: Numbers,
    term: Callable[[Any, Numbers], Numbers],
    projections: Projections | None,
) -> Numbers:
    """Sums of the terms of all coordinates: (points x others).

    Args:
        points: One point per row.
        others: The table.
        term: The term of a point's coordinate with those of many rows.
        projections: How each point sees the table, if not as it is.
    """
    out = np.zeros((len(points), len(others)), points.dtype)
    for start in range(0, len(others), _ROWS):
        part = slice(start, start + _ROWS)
        block = np.ascontiguousarray(others[part].T)
        for number, point in enumerate(points):
            seen = block if projections is None else _seen(block, projections, number, part)
            sums = out[number, part]
            # Coordinate by coordinate: a sum along a row may depend on where the row begins.
            for value, x in zip(point, seen, strict=True):
                sums += term(value, x)
    return out


def _seen(block: Numbers, projections: Projections, number: int, part: slice) -> Numbers:
    """A block, column by column, as the relation of a point sees it."""
    direction = projections.directions[projections.group[number]]
    shared = min(len(direction), len(block))
    seen = np.zeros((len(direction), block.shape[1]), block.dtype)
    seen[:shared] = block[:shared]
    along = np.zeros(block.shape[1], block.dtype)
    if projections.across is None:
        for v, x in zip(direction, block, strict=True):
            along -= v * x
    else:
        for y, x in zip(projections.across[part].T, block, strict=True):
            along += y * x
    seen += along * direction[:, None]
    if projections.across is not None:
        lengths = np.zeros_like(along)
        for x in seen:
            lengths += x * x
        seen /= np.maximum(np.sqrt(lengths), _TINY)
    return seen
