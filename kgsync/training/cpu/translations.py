"""TransE, TransH and TransD: gaps between the head, moved by the relation, and the tail."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from kgsync.training.cpu.layout import L1, L2SQ, inlined, kernel
from kgsync.training.cpu.vectors import add, dot, slope

__all__ = [
    "add_transd",
    "add_transe",
    "add_transh",
    "gap_transd",
    "gap_transe",
    "gap_transh",
    "score_transe_pair",
]

_TINY = 1e-12  # as in torch's normalize


@inlined
def gap_transe(a: Any, r: Any, turn: Any, b: Any, gap: Any) -> None:
    """Gap = a + turn · r - b."""
    for i in range(len(gap)):
        gap[i] = a[i] + turn * r[i] - b[i]


@kernel
def add_transe(by_gap: Any, to_h: Any, to_r: Any, to_t: Any) -> None:
    """Add the gradients, given the slope by the gap."""
    add(to_r, 1, by_gap)
    add(to_h, 1, by_gap)
    add(to_t, -1, by_gap)


@inlined
def score_transe_pair(norm: Any, kept: Any, r: Any, turn: Any, a: Any, b: Any) -> Any:
    """Scores with either of two others, in one loop."""
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


@kernel
def gap_transh(h: Any, r: Any, t: Any, w: Any, work: Any) -> Any:
    """work[0] = h⊥ + r - t⊥, work[1] = the unit normal; returns (ŵ·(h - t), 1 / ‖w‖)."""
    width = len(w)
    gap, unit = work[0, :width], work[1, :width]
    inverse = np.float32(1 / max(sqrt(dot(w, w)), _TINY))
    for i in range(width):
        unit[i] = w[i] * inverse
    for i in range(width):
        gap[i] = h[i] - t[i]
    along = dot(unit, gap)
    for i in range(width):
        gap[i] += r[i] - along * unit[i]
    return along, inverse


@kernel
def add_transh(
    norm: Any, tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any
) -> None:
    """Add weight times the gradient of a triple's score."""
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r, w = tables.relation[triple.relation], tables.relation2[triple.relation]
    to_w, width = sums.relation2[at.relation], len(h)
    along, inverse = gap_transh(h, r, t, w, work)
    by_gap, unit = work[0, :width], work[1, :width]
    slope(norm, by_gap, weight)
    add(sums.relation[at.relation], 1, by_gap)
    across = dot(by_gap, unit)
    # Of the unit normal: -(u·ŵ) (h - t) - (ŵ·(h - t)) u; its part along ŵ does not count.
    a, b = -inverse * across, -inverse * along
    c = np.float32(-2) * a * along
    for i in range(width):
        to_w[i] += a * (h[i] - t[i]) + b * by_gap[i] + c * unit[i]
    add(by_gap, -across, unit)
    add(sums.entity[at.head], 1, by_gap)
    add(sums.entity[at.tail], -1, by_gap)


@kernel
def _project(e: Any, e_p: Any, r_p: Any, out: Any) -> Any:
    """Out = the normalised projection; returns (e·e_p, 1 / its length before)."""
    along, shared = dot(e, e_p), min(len(e), len(r_p))
    for i in range(len(r_p)):
        out[i] = along * r_p[i]
    add(out[:shared], 1, e)
    out = out[: len(r_p)]
    inverse = np.float32(1 / max(sqrt(dot(out, out)), _TINY))
    for i in range(len(r_p)):
        out[i] *= inverse
    return along, inverse


@kernel
def gap_transd(tables: Any, triple: Any, work: Any) -> Any:
    """work[0] = h⊥ + r - t⊥, work[1] = h⊥, work[2] = t⊥."""
    r, r_p = tables.relation[triple.relation], tables.relation2[triple.relation]
    h, t = triple.head, triple.tail
    head = _project(tables.entity[h], tables.entity2[h], r_p, work[1])
    tail = _project(tables.entity[t], tables.entity2[t], r_p, work[2])
    gap_transe(work[1], r, np.float32(1), work[2], work[0, : len(r)])
    return head, tail


@kernel
def add_transd(
    norm: Any, tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any
) -> None:
    """Add weight times the gradient of a triple's score."""
    head, tail = gap_transd(tables, triple, work)
    by_gap = work[0, : tables.relation2.shape[1]]
    slope(norm, by_gap, weight)
    add(sums.relation[at.relation], 1, by_gap)
    relations = triple.relation, at.relation
    _add_side(tables, (triple.head, at.head), relations, by_gap, 1, head, sums, work[1])
    _add_side(tables, (triple.tail, at.tail), relations, by_gap, -1, tail, sums, work[2])


@kernel
def _add_side(
    tables: Any,
    entity: Any,
    relation: Any,
    by_gap: Any,
    sign: Any,
    projection: Any,
    sums: Any,
    projected: Any,
) -> None:
    """Through the normalisation and the projection of one side.

    The entity and the relation each have a row in the tables and one in the sums.
    """
    from_e, to_e = entity
    from_r, to_r = relation
    r_p, width = tables.relation2[from_r], len(by_gap)
    along, inverse = projection
    projected = projected[:width]
    across, scale = dot(by_gap, projected), np.float32(sign) * inverse
    for i in range(width):
        projected[i] = scale * (by_gap[i] - across * projected[i])
    back = dot(projected, r_p)
    add(sums.relation2[to_r], along, projected)
    add(sums.entity[to_e, : min(tables.entity.shape[1], width)], 1, projected)
    add(sums.entity[to_e], back, tables.entity2[from_e])
    add(sums.entity2[to_e], back, tables.entity[from_e])
