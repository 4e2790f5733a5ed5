"""The linear assignment problem: which row takes which column, so that the gains are largest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_assignment"]


def best_assignment(gains: NDArray[Any]) -> NDArray[np.intp]:
    """For each row of a square matrix its column; the sum of their entries is the largest.

    One row after the other finds its place by a shortest path over reduced costs (Kuhn and
    Munkres, in the form of Jonker and Volgenant).
    """
    costs = gains.max(initial=0) - gains.astype(np.float64)
    count = len(costs)
    of_rows, of_columns = np.zeros(count), np.zeros(count)
    taken_by = np.full(count, -1)
    for start in range(count):
        shortest, before = np.full(count, np.inf), np.full(count, -1)
        seen = np.zeros(count, bool)
        row, column, reached = start, -1, 0.0
        while True:
            through = reached + costs[row] - of_rows[row] - of_columns
            better = ~seen & (through < shortest)
            shortest[better], before[better] = through[better], column
            column = int(np.where(seen, np.inf, shortest).argmin())
            reached = float(shortest[column])
            seen[column] = True
            row = int(taken_by[column])
            if row < 0:
                break
        left = np.flatnonzero(seen & (taken_by >= 0))
        of_rows[start] += reached
        of_rows[taken_by[left]] += reached - shortest[left]
        of_columns[left] -= reached - shortest[left]
        while column >= 0:  # back along the path, everybody moves on by one
            previous = int(before[column])
            taken_by[column] = start if previous < 0 else taken_by[previous]
            column = previous
    placed = np.empty(count, np.intp)
    placed[taken_by] = np.arange(count)
    return placed
