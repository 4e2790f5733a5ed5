"""TransE: a relation is a translation, h + r ≈ t. Vectors are not normalised."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from kgsync.models.base import Rows, TableSpec, one_vector_each
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import Array, Sums, sums_of_rows
from kgsync.models.parts.kernels import add_own_by_gradient
from kgsync.models.parts.loops import L1, L2SQ, NORM, add, function, inlined, length, slope
from kgsync.models.parts.symmetries import SameScores, Tables, kind_of, turned_and_moved
from kgsync.models.parts.translational import Translational, make_gap
from kgsync.models.settings import ModelSettings

__all__ = ["MODEL", "TransE"]


class TransE(Translational):
    """f_r(h, t) = -‖h + r - t‖."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        return one_vector_each(settings)

    def project(self, entity: Rows, relation: Rows, sums: Sums = sums_of_rows) -> Array:
        """Every relation sees an entity alike."""
        return entity["entity"]


@function
def _score(tables: Any, triple: Any, work: Any) -> Any:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    gap = work[0, : len(r)]
    make_gap(h, r, np.float32(1), t, gap)
    return -length(gap)


@function
def _add_gradient(tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any) -> None:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    to_h, to_r, to_t = sums.entity[at.head], sums.relation[at.relation], sums.entity[at.tail]
    gap = work[0, : len(h)]
    make_gap(h, r, np.float32(1), t, gap)
    slope(gap, weight)
    _add_slope(gap, to_h, to_r, to_t)


@function
def _add_slope(by_gap: Any, to_h: Any, to_r: Any, to_t: Any) -> None:
    add(to_r, 1, by_gap)
    add(to_h, 1, by_gap)
    add(to_t, -1, by_gap)


@inlined
def _score_pair(tables: Any, pair: Any, _work: Any) -> Any:
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    turn = np.float32(1 if pair.on_tail else -1)
    return _two_scores(kept, r, turn, a, b)


@inlined
def _two_scores(kept: Any, r: Any, turn: Any, a: Any, b: Any) -> Any:
    """Scores with either of two others, in one loop."""
    right: Any = np.float32(0)
    wrong: Any = np.float32(0)
    if NORM == L1:
        for i in range(len(kept)):
            base = kept[i] + turn * r[i]
            right += abs(base - a[i])
            wrong += abs(base - b[i])
        return -right, -wrong
    for i in range(len(kept)):
        base = kept[i] + turn * r[i]
        right += (base - a[i]) * (base - a[i])
        wrong += (base - b[i]) * (base - b[i])
    if NORM == L2SQ:
        return -right, -wrong
    return -np.float32(sqrt(right)), -np.float32(sqrt(wrong))


@inlined
def _add_pair_gradient(
    tables: Any, pair: Any, up: Any, down: Any, sums: Any, at: Any, work: Any
) -> None:
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    to_kept, to_r = sums.entity[at.kept], sums.relation[at.relation]
    to_a, to_b = sums.entity[at.true], sums.entity[at.false]
    first, second = work[0, : len(kept)], work[1, : len(kept)]
    turn = np.float32(1 if pair.on_tail else -1)
    make_gap(kept, r, turn, a, first)
    make_gap(kept, r, turn, b, second)
    slope(first, up)
    slope(second, down)
    add(to_a, -1, first)
    add(to_b, -1, second)
    add(first, 1, second)
    add(to_kept, 1, first)
    add(to_r, turn, first)


@function
def _add_own(
    tables: Any,
    triple: Any,
    weight: Any,
    of_relation: Any,
    row: Any,
    sums: Any,
    own: Any,
    work: Any,
) -> None:
    if NORM == L1:
        h, t = tables.entity[triple.head], tables.entity[triple.tail]
        r = tables.relation[triple.relation]
        on_head, on_tail = triple.head == row, triple.tail == row
        sign = 1 if of_relation else np.int64(on_head) - np.int64(on_tail)
        _add_l1(h, r, t, np.float32(sign * weight), own)
    else:
        add_own_by_gradient(tables, triple, weight, of_relation, row, sums, own, work)


@function
def _add_l1(h: Any, r: Any, t: Any, weight: Any, to: Any) -> None:
    """Add weight · ∂f/∂h: `add_gradient` takes four times as long for all three."""
    zero = np.float32(0)
    for i in range(len(to)):
        gap = h[i] + r[i] - t[i]
        to[i] += -weight if gap > 0 else (weight if gap < 0 else zero)


def _symmetry(settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
    """All vectors are turned alike and entities moved: h + r - t is turned."""
    entity, relation = turned_and_moved(settings, new, old)
    return SameScores(
        f"{kind_of(settings)} and translation", {"entity": entity, "relation": relation}
    )


MODEL = ModelDeclaration(
    name="transe",
    title="TransE",
    model=TransE,
    loss="margin",
    optimizer="sgd",
    learning_rate=0.001,
    has_norm=True,
    closed_forms=("entity", "relation"),
    steps_by_pair=True,
    symmetry=_symmetry,
    retrains_anew=True,
    kernels={
        "score": _score,
        "add_gradient": _add_gradient,
        "score_pair": _score_pair,
        "add_pair_gradient": _add_pair_gradient,
        "add_own": _add_own,
    },
)
