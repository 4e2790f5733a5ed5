"""Distances of points to every row of a table, compiled: torch's own take several times as long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

__all__ = ["distances_to_all"]

_BLOCK = 512  # rows at a time: their sums stay in the first-level cache


def distances_to_all(points: Tensor, others: Tensor, *, squared: bool) -> Tensor:
    """Sums of absolute, or of squared, differences: (points x others), both on the CPU.

    Every sum is taken in the order of the coordinates, so equal rows are equally far. As many
    threads compute as torch may use.
    """
    out = points.new_empty(len(points), len(others))
    columns, threads = np.ascontiguousarray(others.numpy().T), torch.get_num_threads()
    parts = zip(points.tensor_split(threads), out.tensor_split(threads), strict=True)
    jobs = [(part.numpy(), columns, squared, sums.numpy()) for part, sums in parts if len(part)]
    if len(jobs) < 2:
        for job in jobs:
            _fill(*job)
        return out
    with ThreadPoolExecutor(threads) as pool:
        for running in [pool.submit(_fill, *job) for job in jobs]:
            running.result()
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
