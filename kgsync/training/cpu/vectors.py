"""Loops over the numbers of vectors, and the softplus of one number.

Each loop has one output: with more, the compiler gives up proving that they do not overlap.
"""

from __future__ import annotations

from math import exp, log1p, sqrt
from typing import Any

import numpy as np

from kgsync.common.compiled import compiled
from kgsync.training.cpu.layout import L1, L2, L2SQ, inlined, kernel

__all__ = ["add", "add_product", "add_products", "dot", "length", "slope", "softplus"]


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


@kernel
def length(norm: Any, gap: Any) -> Any:
    """‖gap‖."""
    if norm == L1:
        total = np.float32(0)
        for i in range(len(gap)):
            total += abs(gap[i])
        return total
    squares = dot(gap, gap)
    return squares if norm == L2SQ else np.float32(sqrt(squares))


@kernel
def slope(norm: Any, gap: Any, weight: Any) -> None:
    """Gap becomes weight · ∂(-‖gap‖)/∂gap."""
    if norm == L1:
        factor, zero = np.float32(weight), np.float32(0)
        for i in range(len(gap)):
            gap[i] = -factor if gap[i] > 0 else (factor if gap[i] < 0 else zero)
        return
    scale = np.float32(-2 * weight)
    if norm == L2:
        long = length(L2, gap)
        scale = np.float32(-weight / long if long > 0 else 0.0)
    for i in range(len(gap)):
        gap[i] *= scale


@compiled()
def softplus(x: Any) -> Any:
    """log(1 + exp(x)) and its slope."""
    small = exp(-abs(x))
    slope = 1 / (1 + small)
    return max(x, 0.0) + log1p(small), np.float32(slope if x >= 0 else small * slope)
