"""Exact nearest rows of a table by cosine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest", "nearest", "unit_length"]

_BLOCK = 1 << 24
"""Cosines that are computed at a time."""


def unit_length(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows scaled to length 1; zero rows stay zero."""
    length = np.linalg.norm(table, axis=1, keepdims=True)
    length[length == 0] = 1
    unit: NDArray[np.float32] = (table / length).astype(np.float32)
    return unit


def nearest(
    unit: NDArray[np.float32], rows: NDArray[np.int64], k: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """For each given row, the k other rows with the largest cosine, and the cosines, sorted."""
    at_a_time = max(1, _BLOCK // max(1, len(unit)))
    for start in range(0, len(rows), at_a_time):
        block = rows[start : start + at_a_time]
        similarity = unit[block] @ unit.T
        similarity[np.arange(len(block)), block] = -np.inf
        for line in similarity:
            best = largest(line, min(k, len(unit) - 1))
            yield best, line[best]


def largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Positions of the k largest values, largest first."""
    if k <= 0:
        return np.empty(0, np.int64)
    top = np.argpartition(-values, k - 1)[:k]
    return top[np.argsort(-values[top], kind="stable")]
