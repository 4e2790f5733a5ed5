"""DistMult, RESCAL, ANALOGY and ComplEx: f = query · other.

A query is made of the kept entity and the relation, hᵀM or Mt. The matrix M is a diagonal, full, or
made of scalars and of 2x2 blocks.
"""

from __future__ import annotations

from typing import Any

from kgsync.training.cpu.layout import DISTMULT, RESCAL, inlined, kernel
from kgsync.training.cpu.vectors import add, add_product, add_products, dot

__all__ = ["add_bilinear", "make_query"]


@inlined
def make_query(choices: Any, kept: Any, r: Any, on_tail: Any, query: Any) -> None:
    """Fill in the query for tails, if `on_tail`, or for heads."""
    width = len(kept)
    if choices.code == DISTMULT:
        for i in range(width):
            query[i] = kept[i] * r[i]
        return
    query[:] = 0
    _add_query(choices, kept, r, on_tail, query)


@inlined
def add_bilinear(
    choices: Any, kept: Any, r: Any, other: Any, on_tail: Any, to_kept: Any, to_r: Any
) -> None:
    """Add the gradients of the kept entity and of the relation."""
    if choices.code == DISTMULT:
        add_product(to_r, 1, kept, other)
        add_product(to_kept, 1, r, other)
        return
    h, t = (kept, other) if on_tail else (other, kept)
    _add_query(choices, other, r, not on_tail, to_kept)
    width, scalars = len(kept), choices.scalars
    if choices.code == RESCAL:
        for i in range(width):
            add(to_r[i * width : (i + 1) * width], h[i], t)
        return
    add_product(to_r[:scalars], 1, h, t)
    middle = scalars + (width - scalars) // 2
    h_a, h_b, t_a, t_b = h[scalars:middle], h[middle:], t[scalars:middle], t[middle:]
    add_products(to_r[scalars:middle], h_a, t_a, 1, h_b, t_b)
    add_products(to_r[middle:], h_a, t_b, -1, h_b, t_a)


@kernel
def _add_query(choices: Any, kept: Any, r: Any, on_tail: Any, to: Any) -> None:
    width, scalars = len(kept), choices.scalars
    if choices.code == RESCAL:
        for i in range(width):
            row = r[i * width : (i + 1) * width]
            if on_tail:
                add(to, kept[i], row)
            else:
                to[i] += dot(row, kept)
        return
    add_product(to[:scalars], 1, kept, r)
    middle = scalars + (width - scalars) // 2
    k_a, k_b = kept[scalars:middle], kept[middle:]
    r_a, r_b = r[scalars:middle], r[middle:]
    turn = 1 if on_tail else -1
    add_products(to[scalars:middle], k_a, r_a, -turn, k_b, r_b)
    add_products(to[middle:], k_b, r_a, turn, k_a, r_b)
