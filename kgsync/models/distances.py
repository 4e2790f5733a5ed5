"""Distances of points to every row of a table, compiled: torch's own take several times as long."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from torch import Tensor

__all__ = ["distances_to_all"]

_BLOCK = 512  # rows at a time: their sums stay in the first-level cache


def distances_to_all(points: Tensor, others: Tensor, *, squared: bool) -> Tensor:
    """Sums of absolute, or of squared, differences: (points x others), both on the CPU.

    Every sum is taken in the order of the coordinates, so equal rows are equally far.
    """
    out = points.new_empty(len(points), len(others))
    _fill(points.numpy(), np.ascontiguousarray(others.numpy().T), squared, out.numpy())
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(points: Any, others: Any, squared: Any, out: Any) -> None:
    width, count = others.shape
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        for query in range(len(points)):
            sums = out[query, start:end]
            sums[:] = 0
            for i in range(width):
                value, row = points[query, i], others[i, start:end]
                if squared:
                    for j in range(len(sums)):
                        gap = value - row[j]
                        sums[j] += gap * gap
                else:
                    for j in range(len(sums)):
                        sums[j] += abs(value - row[j])
