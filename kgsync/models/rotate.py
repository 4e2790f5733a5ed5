"""RotatE: a relation turns complex numbers, h ∘ r ≈ t with |r| = 1 (Sun et al., 2019).

An entity's vector is [real parts | imaginary parts]. A relation's vector is half as long: it holds
phases in radians. The distance is Euclidean, which no rotation changes, so that candidates for the
head are compared with the tail turned back.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any, cast

import numpy as np

from kgsync.models.base import Model, Rows, TableSpec
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import Array, distinct, is_numpy, joined, length, stacked
from kgsync.models.parts.distances import scores_of_all
from kgsync.models.parts.loops import add, function, inlined
from kgsync.models.parts.symmetries import Linear, SameScores, Tables, complex_coordinates
from kgsync.models.settings import ModelSettings

__all__ = ["MODEL", "RotatE"]


class RotatE(Model):
    """f_r(h, t) = -‖h ∘ r - t‖₂ with r = exp(iθ)."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """Complex numbers per entity, their phases per relation."""
        width = settings.dimension
        phases = TableSpec("relation", width // 2, scales=False)
        return {"entity": TableSpec("entity", width), "relation": phases}

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Array:
        """Negative distance of h ∘ r and t."""
        return -length(_turned(head, relation, 1) - tail["entity"], "l2")

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Array:
        """Distance of h ∘ r to every candidate."""
        return scores_of_all(_turned_alone(head, relation, 1), candidates["entity"], "l2")

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Array:
        """Distance of t, turned back, to every candidate."""
        return scores_of_all(_turned_alone(tail, relation, -1), candidates["entity"], "l2")


def _turned(entity: Rows, relation: Rows, turn: int) -> Array:
    return _rotated(entity["entity"], *_cos_sin(turn * relation["relation"]))


def _turned_alone(entity: Rows, relation: Rows, turn: int) -> Array:
    """The same bits whichever rows there are besides: a cosine may depend on its place in memory.

    So those of a relation are always computed by themselves, once for all rows that have it.
    """
    phases, which = distinct(turn * relation["relation"])
    pairs = [_cos_sin(joined([row])) for row in phases]
    c, s = (stacked([pair[part] for pair in pairs])[which] for part in (0, 1))
    return _rotated(entity["entity"], c, s)


def _cos_sin(phases: Array) -> tuple[Array, Array]:
    if is_numpy(phases):
        plain = cast("Any", phases)
        return cast("Array", np.cos(plain)), cast("Array", np.sin(plain))
    return phases.cos(), phases.sin()


def _rotated(vectors: Array, c: Array, s: Array) -> Array:
    half = c.shape[-1]
    re, im = vectors[..., :half], vectors[..., half:]
    return joined([re * c - im * s, re * s + im * c])


@inlined
def _turn(kept: Any, r: Any, turn: Any, work: Any) -> None:
    """work[0] = the kept entity, turned; work[1] = cosines and sines."""
    half = len(r)
    re, im = work[0, :half], work[0, half : 2 * half]
    c, s = work[1, :half], work[1, half : 2 * half]
    for i in range(half):
        c[i] = cos(r[i])
    for i in range(half):
        s[i] = turn * sin(r[i])
    for i in range(half):
        re[i] = kept[i] * c[i] - kept[half + i] * s[i]
    for i in range(half):
        im[i] = kept[i] * s[i] + kept[half + i] * c[i]


@inlined
def _distance(query: Any, other: Any) -> Any:
    total = np.float32(0)
    for i in range(len(other)):
        total += (query[i] - other[i]) * (query[i] - other[i])
    return np.float32(sqrt(total))


@inlined
def _make_slope(query: Any, other: Any, weight: Any, by_gap: Any) -> None:
    """Weight · ∂f/∂query."""
    long = _distance(query, other)
    scale = np.float32(-weight / long if long > 0 else 0.0)
    for i in range(len(other)):
        by_gap[i] = scale * (query[i] - other[i])


@function
def _add_turned(turn: Any, work: Any, by_gap: Any, to_kept: Any, to_r: Any) -> None:
    """Add the gradients of the kept entity and of the phases, given the slope by the query."""
    half = len(to_r)
    re, im = work[0, :half], work[0, half : 2 * half]
    c, s = work[1, :half], work[1, half : 2 * half]
    for i in range(half):
        to_r[i] += turn * (by_gap[half + i] * re[i] - by_gap[i] * im[i])
    to_re, to_im = to_kept[:half], to_kept[half:]
    for i in range(half):
        to_re[i] += by_gap[i] * c[i] + by_gap[half + i] * s[i]
    for i in range(half):
        to_im[i] += by_gap[half + i] * c[i] - by_gap[i] * s[i]


@function
def _score(tables: Any, triple: Any, work: Any) -> Any:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    _turn(h, tables.relation[triple.relation], np.float32(1), work)
    return -_distance(work[0], t)


@function
def _add_gradient(tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any) -> None:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    by_gap, turn = work[2, : len(h)], np.float32(1)
    _turn(h, tables.relation[triple.relation], turn, work)
    _make_slope(work[0], t, weight, by_gap)
    add(sums.entity[at.tail], -1, by_gap)
    _add_turned(turn, work, by_gap, sums.entity[at.head], sums.relation[at.relation])


@inlined
def _score_pair(tables: Any, pair: Any, work: Any) -> Any:
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    _turn(kept, r, np.float32(1 if pair.on_tail else -1), work)
    true, false = tables.entity[pair.true], tables.entity[pair.false]
    return -_distance(work[0], true), -_distance(work[0], false)


@inlined
def _add_pair_gradient(
    tables: Any, pair: Any, up: Any, down: Any, sums: Any, at: Any, work: Any
) -> None:
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    first, second = work[2, : len(a)], work[3, : len(a)]
    _make_slope(work[0], a, up, first)
    _make_slope(work[0], b, down, second)
    add(sums.entity[at.true], -1, first)
    add(sums.entity[at.false], -1, second)
    add(first, 1, second)
    turn = np.float32(1 if pair.on_tail else -1)
    _add_turned(turn, work, first, sums.entity[at.kept], sums.relation[at.relation])


def _symmetry(_settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
    """Coordinates of entities are exchanged and turned; conjugated, if phases change their signs.

    Besides, a phase may be any number that differs by a multiple of 2π.
    """
    plain, conjugated = (_alike(sign * new["relation"], old["relation"]) for sign in (1, -1))
    entity, turned = complex_coordinates(new["entity"], old["entity"], plain, conjugated)
    phases = turned[len(plain) :, len(plain) :]  # a phase changes its sign as imaginary parts do
    maps = {"entity": Linear(entity), "relation": Linear(phases)}
    return SameScores("permutation and turns of coordinates", maps, {"relation": _unwound})


def _alike(phases: Any, old: Any) -> Any:
    """For each pair of coordinates, minus half the squares of the least differences."""
    return np.stack([-np.square(_wrapped(old.T - phase)).sum(1) / 2 for phase in phases.T])


def _wrapped(angles: Any) -> Any:
    return angles - 2 * pi * np.round(angles / (2 * pi))


def _unwound(rows: Any, old: Any) -> Any:
    return old + _wrapped(rows - old)


MODEL = ModelDeclaration(
    name="rotate",
    title="RotatE",
    model=RotatE,
    loss="margin",
    optimizer="adagrad",
    learning_rate=0.1,
    divisor=2,
    symmetry=_symmetry,
    kernels={
        "score": _score,
        "add_gradient": _add_gradient,
        "score_pair": _score_pair,
        "add_pair_gradient": _add_pair_gradient,
    },
)
