"""Loops over the numbers of vectors, for the kernels.

Each loop has one output: with more, the compiler gives up proving that they do not overlap.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from kgsync.common.kernels import FAST, Slot, kernel

__all__ = [
    "L1",
    "L2",
    "L2SQ",
    "NORM",
    "NORMS",
    "add",
    "add_product",
    "add_products",
    "copy",
    "dot",
    "function",
    "inlined",
    "length",
    "slope",
]

L1, L2, L2SQ = range(3)
NORMS = {"l1": L1, "l2": L2, "l2sq": L2SQ}
NORM: Any = Slot("NORM")
"""The norm of the settings, one of the three."""

function = kernel(FAST)
"""Marks a function that kernels call."""
inlined = kernel(FAST, inline=True)
"""The same for what is done pair by pair, and becomes part of its callers: passing tables on took a
third of the time of an epoch. Only where it was seen to pay: it makes compiling take longer."""


@inlined
def copy(to: Any, row: Any) -> None:
    """To = row; numba's own way takes more than a second to compile, for its error message."""
    for i in range(len(to)):
        to[i] = row[i]


@inlined
def dot(a: Any, b: Any) -> Any:
    """The inner product."""
    total = np.float32(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@inlined
def add(to: Any, weight: Any, row: Any) -> None:
    """To += weight · row."""
    factor = np.float32(weight)
    for i in range(len(to)):
        to[i] += factor * row[i]


@inlined
def add_product(to: Any, weight: Any, a: Any, b: Any) -> None:
    """To += weight · a · b, number by number."""
    factor = np.float32(weight)
    for i in range(len(to)):
        to[i] += factor * a[i] * b[i]


@inlined
def add_products(to: Any, a: Any, b: Any, sign: Any, c: Any, d: Any) -> None:
    """To += a · b + sign · c · d, number by number."""
    factor = np.float32(sign)
    for i in range(len(to)):
        to[i] += a[i] * b[i] + factor * c[i] * d[i]


@function
def length(gap: Any) -> Any:
    """‖gap‖."""
    if NORM == L1:
        total = np.float32(0)
        for i in range(len(gap)):
            total += abs(gap[i])
        return total
    squares = dot(gap, gap)
    return squares if NORM == L2SQ else np.float32(sqrt(squares))


@function
def slope(gap: Any, weight: Any) -> None:
    """Gap becomes weight · ∂(-‖gap‖)/∂gap."""
    if NORM == L1:
        factor, zero = np.float32(weight), np.float32(0)
        for i in range(len(gap)):
            gap[i] = -factor if gap[i] > 0 else (factor if gap[i] < 0 else zero)
        return
    scale = np.float32(-2 * weight)
    if NORM == L2:
        long = length(gap)
        scale = np.float32(-weight / long if long > 0 else 0.0)
    for i in range(len(gap)):
        gap[i] *= scale
