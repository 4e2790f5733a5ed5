"""TransH: a relation is a translation on a hyperplane of its own."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from kgsync.models.base import Kind, Rows, TableSpec
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import (
    Array,
    Sums,
    distinct,
    normalized,
    sums_in_order,
    sums_of_rows,
)
from kgsync.models.parts.distances import Projections
from kgsync.models.parts.loops import add, dot, function, length, slope
from kgsync.models.parts.places import Places
from kgsync.models.parts.symmetries import SameScores, Tables, kind_of, turned_and_moved
from kgsync.models.parts.translational import Translational
from kgsync.models.settings import ModelSettings

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["CONSTRAINT_TOLERANCE", "CONSTRAINT_WEIGHT", "MODEL", "TransH"]

CONSTRAINT_WEIGHT = 1 / 64
CONSTRAINT_TOLERANCE = 1e-3
_TINY = 1e-12  # as in torch's normalize


class TransH(Translational):
    """f_r(h, t) = -‖h⊥ + r - t⊥‖ with e⊥ = e - (w·e) w and w the unit normal of r's hyperplane."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity; a translation and a normal per relation."""
        width = settings.dimension
        return {
            "entity": TableSpec("entity", width),
            "relation": TableSpec("relation", width),
            "normal": TableSpec("relation", width, unit=True, scales=False),
        }

    def project(self, entity: Rows, relation: Rows, sums: Sums = sums_of_rows) -> Array:
        """Entities on the hyperplanes; only the direction of a normal counts."""
        normal = normalized(relation["normal"], sums)
        along = sums(entity["entity"] * normal)[..., None]
        return entity["entity"] - along * normal

    def projections(self, relation: Rows, candidates: Rows) -> Projections | None:
        """Onto the hyperplane of each relation."""
        normals, group = distinct(relation["normal"])
        return Projections(group, normalized(normals, sums_in_order))

    def constraint(self, relations: Rows) -> Tensor | None:
        """Soft constraint that r lies on its hyperplane: C Σ [(w·r)²/‖r‖² - ε²]₊."""
        import torch

        normal, translation = normalized(relations["normal"]), normalized(relations["relation"])
        cosine = (normal * translation).sum(-1)
        return CONSTRAINT_WEIGHT * torch.relu(cosine.square() - CONSTRAINT_TOLERANCE**2).sum()

    def places(
        self, kind: Kind, head: Rows, relation: Rows, tail: Rows, incoming: Tensor
    ) -> Places:
        """Lines along the normal, as only the projection of an entity counts."""
        on_line = super().places(kind, head, relation, tail, incoming).points
        return Places(on_line, normalized(relation["normal"].double()))


@function
def _make_gap(h: Any, r: Any, t: Any, w: Any, work: Any) -> Any:
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


@function
def _score(tables: Any, triple: Any, work: Any) -> Any:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    gap = work[0, : len(r)]
    _make_gap(h, r, t, tables.relation2[triple.relation], work)
    return -length(gap)


@function
def _add_gradient(tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any) -> None:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r, w = tables.relation[triple.relation], tables.relation2[triple.relation]
    to_w, width = sums.relation2[at.relation], len(h)
    along, inverse = _make_gap(h, r, t, w, work)
    by_gap, unit = work[0, :width], work[1, :width]
    slope(by_gap, weight)
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


@function
def _add_constraint(tables: Any, relations: Any, sums: Any) -> Any:
    """See `TransH.constraint`."""
    loss = 0.0
    for at in range(relations.used[0]):
        row = relations.rows[at]
        r, w = tables.relation[row], tables.relation2[row]
        rr, ww, rw = 0.0, 0.0, 0.0
        for i in range(len(r)):
            rr += r[i] * r[i]
            ww += w[i] * w[i]
            rw += r[i] * w[i]
        if rr == 0 or ww == 0:
            continue
        squared = rw * rw / (rr * ww)
        if squared > CONSTRAINT_TOLERANCE**2:
            loss += CONSTRAINT_WEIGHT * (squared - CONSTRAINT_TOLERANCE**2)
            relations.uses[at] += 1
            scale = np.float32(CONSTRAINT_WEIGHT * 2 * rw / (rr * ww))
            to_r, to_w = sums.relation[at], sums.relation2[at]
            by_r, by_w = np.float32(rw / rr), np.float32(rw / ww)
            for i in range(len(r)):
                to_r[i] += scale * (w[i] - by_r * r[i])
            for i in range(len(r)):
                to_w[i] += scale * (r[i] - by_w * w[i])
    return loss


def _symmetry(settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
    """As for TransE, with the normals turned too; and a normal may point to either side."""
    entity, relation = turned_and_moved(settings, new, old)
    maps = {"entity": entity, "relation": relation, "normal": relation}
    kind = f"{kind_of(settings)} and translation"
    return SameScores(kind, maps, {"normal": _on_the_same_side})


def _on_the_same_side(rows: Any, old: Any) -> Any:
    return np.where((rows * old).sum(1, keepdims=True) < 0, -rows, rows)


MODEL = ModelDeclaration(
    name="transh",
    title="TransH",
    model=TransH,
    loss="margin",
    optimizer="sgd",
    learning_rate=0.001,
    has_norm=True,
    closed_forms=("entity",),
    symmetry=_symmetry,
    retrains_anew=True,
    kernels={
        "score": _score,
        "add_gradient": _add_gradient,
        "add_constraint": _add_constraint,
    },
)
