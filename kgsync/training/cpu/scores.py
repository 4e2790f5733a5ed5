"""Scores of single triples and their gradients, for every model.

`score` and `add_gradient` branch on the model once a triple; their inner loops run over the numbers
of a vector and are vectorised. A gradient is added to rows of `sums`, which has the same tables as
the model: row `at.head` for the head, and so on.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from kgsync.training.cpu.layout import (
    ANALOGY,
    DISTMULT,
    FAST,
    L1,
    L2,
    L2SQ,
    RESCAL,
    TRANSE,
    TRANSH,
)

__all__ = ["Triple", "add", "add_gradient", "add_product", "add_products", "score"]

_TINY = 1e-12  # as in torch's normalize


class Triple(NamedTuple):
    """Rows of a head, a relation and a tail."""

    head: int
    relation: int
    tail: int


@njit(cache=True, fastmath=FAST, error_model="numpy")
def score(choices: Any, tables: Any, triple: Any, work: Any) -> Any:
    """f_r(h, t); `work` has at least four rows as wide as a vector."""
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    code = choices.code
    if code == TRANSE:
        return _score_transe(choices.norm, h, r, t)
    if code == DISTMULT:
        return _score_distmult(h, r, t)
    if code == ANALOGY:
        return _score_analogy(choices.scalars, h, r, t)
    if code == RESCAL:
        return _score_rescal(h, r, t)
    if code == TRANSH:
        _gap_transh(h, r, t, tables.relation2[triple.relation], work)
    else:
        _gap_transd(tables, triple, work)
    return -_length(choices.norm, work[0, : len(r)])


@njit(cache=True, fastmath=FAST, error_model="numpy")
def add_gradient(
    choices: Any, tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any
) -> None:
    """Add weight · ∂f/∂θ for every row θ of the triple."""
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    to_h, to_r, to_t = sums.entity[at.head], sums.relation[at.relation], sums.entity[at.tail]
    code = choices.code
    if code == TRANSE:
        _add_transe(choices.norm, h, r, t, weight, to_h, to_r, to_t, work[0, : len(h)])
    elif code == DISTMULT:
        add_product(to_r, weight, h, t)
        add_product(to_h, weight, r, t)
        add_product(to_t, weight, h, r)
    elif code == ANALOGY:
        _add_analogy(choices.scalars, h, r, t, weight, to_h, to_r, to_t)
    elif code == RESCAL:
        _add_rescal(h, r, t, weight, to_h, to_r, to_t)
    elif code == TRANSH:
        w, to_w = tables.relation2[triple.relation], sums.relation2[at.relation]
        _add_transh(choices.norm, h, r, t, w, weight, to_h, to_r, to_t, to_w, work)
    else:
        _add_transd(choices.norm, tables, triple, weight, sums, at, work)


# -- translational -----------------------------------------------------------------------------


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _score_transe(norm: Any, h: Any, r: Any, t: Any) -> Any:
    total = np.float32(0)
    if norm == L1:
        for i in range(len(h)):
            total += abs(h[i] + r[i] - t[i])
        return -total
    for i in range(len(h)):
        gap = h[i] + r[i] - t[i]
        total += gap * gap
    return -total if norm == L2SQ else -sqrt(total)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _length(norm: Any, gap: Any) -> Any:
    total = np.float32(0)
    if norm == L1:
        for i in range(len(gap)):
            total += abs(gap[i])
        return total
    for i in range(len(gap)):
        total += gap[i] * gap[i]
    return total if norm == L2SQ else sqrt(total)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _slope(norm: Any, gap: Any, weight: Any, out: Any) -> None:
    """Out = weight · ∂(-‖gap‖)/∂gap; `out` may be `gap`."""
    if norm == L1:
        factor, zero = np.float32(weight), np.float32(0)
        for i in range(len(gap)):
            g = gap[i]
            out[i] = -factor if g > 0 else (factor if g < 0 else zero)
        return
    scale = np.float32(-2 * weight)
    if norm == L2:
        length = _length(L2, gap)
        scale = np.float32(-weight / length if length > 0 else 0.0)
    for i in range(len(gap)):
        out[i] = scale * gap[i]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def add(to: Any, weight: Any, row: Any) -> None:
    """To += weight · row."""
    factor = np.float32(weight)
    for i in range(len(to)):
        to[i] += factor * row[i]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def add_product(to: Any, weight: Any, a: Any, b: Any) -> None:
    """To += weight · a · b."""
    factor = np.float32(weight)
    for i in range(len(to)):
        to[i] += factor * a[i] * b[i]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_transe(
    norm: Any, h: Any, r: Any, t: Any, weight: Any, to_h: Any, to_r: Any, to_t: Any, gap: Any
) -> None:
    for i in range(len(gap)):
        gap[i] = h[i] + r[i] - t[i]
    _slope(norm, gap, weight, gap)
    add(to_r, 1, gap)
    add(to_h, 1, gap)
    add(to_t, -1, gap)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _gap_transh(h: Any, r: Any, t: Any, w: Any, work: Any) -> Any:
    """work[0] = h⊥ + r - t⊥, work[1] = the unit normal; returns (w·(h - t), 1 / ‖w‖)."""
    squares, along = np.float32(0), np.float32(0)
    for i in range(len(w)):
        squares += w[i] * w[i]
    inverse = np.float32(1 / max(sqrt(squares), _TINY))
    gap, unit = work[0], work[1]
    for i in range(len(w)):
        unit[i] = w[i] * inverse
        along += unit[i] * (h[i] - t[i])
    for i in range(len(w)):
        gap[i] = h[i] - t[i] - along * unit[i] + r[i]
    return along, inverse


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_transh(
    norm: Any,
    h: Any,
    r: Any,
    t: Any,
    w: Any,
    weight: Any,
    to_h: Any,
    to_r: Any,
    to_t: Any,
    to_w: Any,
    work: Any,
) -> None:
    along, inverse = _gap_transh(h, r, t, w, work)
    width = len(h)
    slope, unit = work[0, :width], work[1, :width]
    _slope(norm, slope, weight, slope)
    dot = np.float32(0)
    for i in range(width):
        dot += slope[i] * unit[i]
    add(to_r, 1, slope)
    # Of the unit normal: -(u·ŵ) (h - t) - (ŵ·(h - t)) u; its part along ŵ does not count.
    a, b = -inverse * dot, -inverse * along
    c = np.float32(2 * inverse * dot * along)
    for i in range(width):
        to_w[i] += a * (h[i] - t[i]) + b * slope[i] + c * unit[i]
    for i in range(width):
        slope[i] -= dot * unit[i]
    add(to_h, 1, slope)
    add(to_t, -1, slope)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _project_transd(e: Any, e_p: Any, r_p: Any, out: Any) -> Any:
    """Out = the normalised projection; returns (e·e_p, 1 / its length before)."""
    zero = np.float32(0)
    dot, squares = zero, zero
    for i in range(len(e)):
        dot += e[i] * e_p[i]
    for i in range(len(r_p)):
        out[i] = dot * r_p[i] + (e[i] if i < len(e) else zero)
        squares += out[i] * out[i]
    inverse = np.float32(1 / max(sqrt(squares), _TINY))
    for i in range(len(r_p)):
        out[i] *= inverse
    return dot, inverse


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _gap_transd(tables: Any, triple: Any, work: Any) -> Any:
    """work[0] = h⊥ + r - t⊥, work[1] = h⊥, work[2] = t⊥."""
    r, r_p = tables.relation[triple.relation], tables.relation2[triple.relation]
    h, h_p = tables.entity[triple.head], tables.entity2[triple.head]
    t, t_p = tables.entity[triple.tail], tables.entity2[triple.tail]
    head = _project_transd(h, h_p, r_p, work[1])
    tail = _project_transd(t, t_p, r_p, work[2])
    for i in range(len(r)):
        work[0, i] = work[1, i] + r[i] - work[2, i]
    return head, tail


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_transd_side(
    e: Any,
    e_p: Any,
    r_p: Any,
    slope: Any,
    sign: Any,
    projected: Any,
    dot: Any,
    inverse: Any,
    to_e: Any,
    to_p: Any,
    to_r: Any,
) -> None:
    """Through the normalisation and the projection of one side."""
    along, back = np.float32(0), np.float32(0)
    for i in range(len(r_p)):
        along += slope[i] * projected[i]
    scale = np.float32(sign * inverse)
    for i in range(len(r_p)):
        projected[i] = scale * (slope[i] - along * projected[i])
        back += projected[i] * r_p[i]
    add(to_r, dot, projected)
    shared = min(len(e), len(r_p))
    add(to_e[:shared], 1, projected)
    add(to_e, back, e_p)
    add(to_p, back, e)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_transd(
    norm: Any, tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any
) -> None:
    (head_dot, head_inverse), (tail_dot, tail_inverse) = _gap_transd(tables, triple, work)
    r_p = tables.relation2[triple.relation]
    to_r, to_rp = sums.relation[at.relation], sums.relation2[at.relation]
    slope = work[0, : len(r_p)]
    _slope(norm, slope, weight, slope)
    for i in range(len(r_p)):
        to_r[i] += slope[i]
    _add_transd_side(
        tables.entity[triple.head],
        tables.entity2[triple.head],
        r_p,
        slope,
        1,
        work[1],
        head_dot,
        head_inverse,
        sums.entity[at.head],
        sums.entity2[at.head],
        to_rp,
    )
    _add_transd_side(
        tables.entity[triple.tail],
        tables.entity2[triple.tail],
        r_p,
        slope,
        -1,
        work[2],
        tail_dot,
        tail_inverse,
        sums.entity[at.tail],
        sums.entity2[at.tail],
        to_rp,
    )


# -- semantic matching -------------------------------------------------------------------------


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _score_distmult(h: Any, r: Any, t: Any) -> Any:
    total = np.float32(0)
    for i in range(len(h)):
        total += h[i] * r[i] * t[i]
    return total


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _score_analogy(scalars: Any, h: Any, r: Any, t: Any) -> Any:
    total = np.float32(0)
    for i in range(scalars):
        total += h[i] * r[i] * t[i]
    half = (len(h) - scalars) // 2
    for a in range(scalars, scalars + half):
        b = a + half
        total += (h[a] * r[a] - h[b] * r[b]) * t[a] + (h[a] * r[b] + h[b] * r[a]) * t[b]
    return total


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_analogy(
    scalars: Any, h: Any, r: Any, t: Any, weight: Any, to_h: Any, to_r: Any, to_t: Any
) -> None:
    add_product(to_r[:scalars], weight, h, t)
    add_product(to_h[:scalars], weight, r, t)
    add_product(to_t[:scalars], weight, h, r)
    middle = scalars + (len(h) - scalars) // 2
    h_a, r_a, t_a = h[scalars:middle], r[scalars:middle], t[scalars:middle]
    h_b, r_b, t_b = h[middle:], r[middle:], t[middle:]
    add_products(to_r[scalars:middle], weight, h_a, t_a, 1, h_b, t_b)
    add_products(to_r[middle:], weight, h_a, t_b, -1, h_b, t_a)
    add_products(to_h[scalars:middle], weight, r_a, t_a, 1, r_b, t_b)
    add_products(to_h[middle:], weight, r_a, t_b, -1, r_b, t_a)
    add_products(to_t[scalars:middle], weight, h_a, r_a, -1, h_b, r_b)
    add_products(to_t[middle:], weight, h_a, r_b, 1, h_b, r_a)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def add_products(to: Any, weight: Any, a: Any, b: Any, sign: Any, c: Any, d: Any) -> None:
    """To += weight · (a · b + sign · c · d)."""
    factor, other = np.float32(weight), np.float32(sign * weight)
    for i in range(len(to)):
        to[i] += factor * a[i] * b[i] + other * c[i] * d[i]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _score_rescal(h: Any, r: Any, t: Any) -> Any:
    total, width = np.float32(0), len(h)
    for i in range(width):
        row, inner = r[i * width : (i + 1) * width], np.float32(0)
        for j in range(width):
            inner += row[j] * t[j]
        total += h[i] * inner
    return total


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_rescal(h: Any, r: Any, t: Any, weight: Any, to_h: Any, to_r: Any, to_t: Any) -> None:
    width = len(h)
    for i in range(width):
        row, to_row = r[i * width : (i + 1) * width], to_r[i * width : (i + 1) * width]
        inner, left = np.float32(0), weight * h[i]
        for j in range(width):
            inner += row[j] * t[j]
        to_h[i] += weight * inner
        add(to_row, left, t)
        add(to_t, left, row)
