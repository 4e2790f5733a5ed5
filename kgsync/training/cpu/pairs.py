"""Pairs of a true triple and one with another head or tail: what they share is computed once.

A pair has a kept entity and two others, one true and one false. `score_pair` leaves in `work` what
`add_pair_gradient` needs, so the one is called right after the other.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from kgsync.training.cpu.layout import ANALOGY, DISTMULT, FAST, L1, L2, L2SQ, RESCAL, TRANSE
from kgsync.training.cpu.scores import Triple, add, add_gradient, add_product, add_products, score

__all__ = ["Pair", "add_pair_gradient", "score_pair"]


class Pair(NamedTuple):
    """Rows of a pair."""

    kept: int
    relation: int
    true: int
    false: int
    on_tail: bool
    """Whether the other entity is the tail."""


@njit(cache=True, fastmath=FAST, error_model="numpy")
def score_pair(choices: Any, tables: Any, pair: Any, work: Any) -> Any:
    """Scores of the true and of the false triple."""
    code = choices.code
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    if code == TRANSE:
        turn = np.float32(1 if pair.on_tail else -1)
        return _score_transe(choices.norm, kept, r, a, b, turn)
    if code in (DISTMULT, ANALOGY, RESCAL):
        query = work[0, : len(kept)]
        _query(choices, kept, r, pair.on_tail, query)
        return _dot(query, a), _dot(query, b)
    true, false = _triples(pair)
    return score(choices, tables, true, work), score(choices, tables, false, work)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def add_pair_gradient(
    choices: Any, tables: Any, pair: Any, up: Any, down: Any, sums: Any, at: Any, work: Any
) -> None:
    """Add the gradients of up · f(true) + down · f(false); `at` has the rows of the sums."""
    code = choices.code
    to_kept, to_r = sums.entity[at.kept], sums.relation[at.relation]
    to_a, to_b = sums.entity[at.true], sums.entity[at.false]
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    if code == TRANSE:
        turn = np.float32(1 if pair.on_tail else -1)
        right, wrong = work[0, : len(kept)], work[1, : len(kept)]
        _slope_transe(choices.norm, kept, r, tables.entity[pair.true], turn, up, right)
        _slope_transe(choices.norm, kept, r, tables.entity[pair.false], turn, down, wrong)
        add(to_a, -1, right)
        add(to_b, -1, wrong)
        add(right, 1, wrong)
        add(to_kept, 1, right)
        add(to_r, turn, right)
    elif code in (DISTMULT, ANALOGY, RESCAL):
        query, mixed = work[0, : len(kept)], work[1, : len(kept)]
        add(to_a, up, query)
        add(to_b, down, query)
        a, b = tables.entity[pair.true], tables.entity[pair.false]
        for i in range(len(mixed)):
            mixed[i] = up * a[i] + down * b[i]
        _add_bilinear(choices, kept, r, mixed, pair.on_tail, to_kept, to_r)
    else:
        true, false = _triples(pair)
        at_true, at_false = _triples(at)
        add_gradient(choices, tables, true, up, sums, at_true, work)
        add_gradient(choices, tables, false, down, sums, at_false, work)


@njit(cache=True, error_model="numpy")
def _triples(pair: Any) -> Any:
    if pair.on_tail:
        true = Triple(pair.kept, pair.relation, pair.true)
        return true, Triple(pair.kept, pair.relation, pair.false)
    true = Triple(pair.true, pair.relation, pair.kept)
    return true, Triple(pair.false, pair.relation, pair.kept)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _dot(a: Any, b: Any) -> Any:
    total = np.float32(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


# -- TransE ------------------------------------------------------------------------------------
# Loops with one output each: with more, the compiler gives up proving that they do not overlap.


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _score_transe(norm: Any, kept: Any, r: Any, a: Any, b: Any, turn: Any) -> Any:
    right: Any = np.float32(0)
    wrong: Any = np.float32(0)
    if norm == L1:
        for i in range(len(kept)):
            base = kept[i] + turn * r[i]
            right += abs(base - a[i])
            wrong += abs(base - b[i])
        return -right, -wrong
    for i in range(len(kept)):
        base = kept[i] + turn * r[i]
        right += (base - a[i]) * (base - a[i])
        wrong += (base - b[i]) * (base - b[i])
    if norm == L2SQ:
        return -right, -wrong
    return -np.float32(sqrt(right)), -np.float32(sqrt(wrong))


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _slope_transe(
    norm: Any, kept: Any, r: Any, other: Any, turn: Any, weight: Any, out: Any
) -> None:
    """Write weight · ∂f/∂kept into `out`."""
    if norm == L1:
        zero = np.float32(0)
        for i in range(len(out)):
            gap = kept[i] + turn * r[i] - other[i]
            out[i] = -weight if gap > 0 else (weight if gap < 0 else zero)
        return
    squares: Any = np.float32(0)
    for i in range(len(out)):
        out[i] = kept[i] + turn * r[i] - other[i]
        squares += out[i] * out[i]
    scale = np.float32(-2 * weight)
    if norm == L2:
        scale = np.float32(-weight / sqrt(squares) if squares > 0 else 0.0)
    for i in range(len(out)):
        out[i] *= scale


# -- semantic matching: f = query · other, with a query made of the kept entity and the relation ---


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _query(choices: Any, kept: Any, r: Any, on_tail: Any, query: Any) -> None:
    width = len(kept)
    if choices.code == DISTMULT:
        for i in range(width):
            query[i] = kept[i] * r[i]
        return
    query[:] = 0
    if choices.code == RESCAL:
        for i in range(width):
            row = r[i * width : (i + 1) * width]
            if on_tail:
                add(query, kept[i], row)
            else:
                query[i] = _dot(row, kept)
        return
    _add_complex(choices.scalars, kept, r, on_tail, query)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_complex(scalars: Any, kept: Any, r: Any, on_tail: Any, to: Any) -> None:
    """Add hᵀM, or Mt, where M is made of scalars and of 2x2 blocks."""
    add_product(to[:scalars], 1, kept, r)
    middle = scalars + (len(kept) - scalars) // 2
    k_a, k_b = kept[scalars:middle], kept[middle:]
    r_a, r_b = r[scalars:middle], r[middle:]
    turn = 1 if on_tail else -1
    add_products(to[scalars:middle], 1, k_a, r_a, -turn, k_b, r_b)
    add_products(to[middle:], 1, k_b, r_a, turn, k_a, r_b)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_bilinear(
    choices: Any, kept: Any, r: Any, mixed: Any, on_tail: Any, to_kept: Any, to_r: Any
) -> None:
    """Gradients of the kept entity and of the relation; `mixed` stands for the other entity."""
    if choices.code == DISTMULT:
        add_product(to_r, 1, kept, mixed)
        add_product(to_kept, 1, r, mixed)
        return
    width = len(kept)
    h, t = (kept, mixed) if on_tail else (mixed, kept)
    if choices.code == RESCAL:
        for i in range(width):
            row, to_row = r[i * width : (i + 1) * width], to_r[i * width : (i + 1) * width]
            add(to_row, h[i], t)
            if on_tail:
                to_kept[i] += _dot(row, mixed)
            else:
                add(to_kept, mixed[i], row)
        return
    scalars = choices.scalars
    add_product(to_r[:scalars], 1, h, t)
    middle = scalars + (width - scalars) // 2
    h_a, h_b, t_a, t_b = h[scalars:middle], h[middle:], t[scalars:middle], t[middle:]
    add_products(to_r[scalars:middle], 1, h_a, t_a, 1, h_b, t_b)
    add_products(to_r[middle:], 1, h_a, t_b, -1, h_b, t_a)
    _add_complex(scalars, mixed, r, not on_tail, to_kept)
