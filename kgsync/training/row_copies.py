"""Copying the rows of a table to where they are in the next version, in one pass if it can be."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["copy_rows", "rows_of"]


def rows_of(table: Tensor, rows: NDArray[np.int64]) -> Tensor:
    """Some rows, ascending; the first ones, or all, are not copied."""
    if not len(rows) or rows[-1] == len(rows) - 1:
        return table[: len(rows)]
    return table[torch.from_numpy(rows)]


def copy_rows(
    table: Tensor, to_rows: NDArray[np.int64], old: Tensor, from_rows: NDArray[np.int64]
) -> None:
    """Copy rows, ascending, into another table.

    Args:
        table: Changed in place.
        to_rows: Where they go.
        old: Where they come from.
        from_rows: Where they are there.
    """
    if not len(to_rows) or to_rows[-1] == len(to_rows) - 1:
        table[: len(to_rows)] = rows_of(old, from_rows)
    else:
        table[torch.from_numpy(to_rows)] = rows_of(old, from_rows)
