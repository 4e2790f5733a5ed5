"""TransD: every pair of an entity and a relation has a projection of its own."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from kgsync.models.base import Rows, TableSpec
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import (
    Array,
    Sums,
    distinct,
    normalized,
    resized,
    sums_of_rows,
)
from kgsync.models.parts.distances import Projections
from kgsync.models.parts.loops import add, dot, function, length, slope
from kgsync.models.parts.symmetries import Linear, SameScores, Tables, blocks, kind_of, turned
from kgsync.models.parts.translational import Translational, make_gap
from kgsync.models.settings import ModelSettings

__all__ = ["MODEL", "TransD"]

_TINY = 1e-12  # as in torch's normalize


class TransD(Translational):
    """f_r(h, t) = -‖h⊥ + r - t⊥‖ with e⊥ = (r_p e_pᵀ + I) e, normalised."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """A vector and a projection vector per element; relations may have a width of their own."""
        entity, relation = settings.dimension, settings.relation_dimension or settings.dimension
        return {
            "entity": TableSpec("entity", entity),
            "entity_projection": TableSpec("entity", entity, scales=False),
            "relation": TableSpec("relation", relation, scales=False),
            "relation_projection": TableSpec("relation", relation, scales=False),
        }

    def project(self, entity: Rows, relation: Rows, sums: Sums = sums_of_rows) -> Array:
        """Entities in the relations' spaces; I cuts or pads with zeros where the widths differ."""
        vector, projection = entity["entity"], relation["relation_projection"]
        along = sums(vector * entity["entity_projection"])[..., None]
        return normalized(along * projection + resized(vector, projection.shape[-1]), sums)

    def projections(self, relation: Rows, candidates: Rows) -> Projections | None:
        """Into the space of each relation, by both projection vectors."""
        directions, group = distinct(relation["relation_projection"])
        return Projections(group, directions, candidates["entity_projection"])


@function
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


@function
def _make_gap(tables: Any, triple: Any, work: Any) -> Any:
    """work[0] = h⊥ + r - t⊥, work[1] = h⊥, work[2] = t⊥."""
    r, r_p = tables.relation[triple.relation], tables.relation2[triple.relation]
    h, t = triple.head, triple.tail
    head = _project(tables.entity[h], tables.entity2[h], r_p, work[1])
    tail = _project(tables.entity[t], tables.entity2[t], r_p, work[2])
    make_gap(work[1], r, np.float32(1), work[2], work[0, : len(r)])
    return head, tail


@function
def _score(tables: Any, triple: Any, work: Any) -> Any:
    r = tables.relation[triple.relation]
    gap = work[0, : len(r)]
    _make_gap(tables, triple, work)
    return -length(gap)


@function
def _add_gradient(tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any) -> None:
    head, tail = _make_gap(tables, triple, work)
    by_gap = work[0, : tables.relation2.shape[1]]
    slope(by_gap, weight)
    add(sums.relation[at.relation], 1, by_gap)
    relations = triple.relation, at.relation
    _add_side(tables, (triple.head, at.head), relations, by_gap, 1, head, sums, work[1])
    _add_side(tables, (triple.tail, at.tail), relations, by_gap, -1, tail, sums, work[2])


@function
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


def _symmetry(settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
    """All vectors are turned alike; and all projection vectors may change their signs together.

    Coordinates that only entities have, or only relations, are turned by themselves: those of
    entities matter only in products, so that any norm allows any turn.
    """
    products = {name: new[name].T @ old[name] for name in ("entity", "relation")}
    shared = min(len(table) for table in products.values())
    common = products["entity"][:shared, :shared] + products["relation"][:shared, :shared]
    turn = turned(common, settings.norm)
    entity = blocks(turn, turned(products["entity"][shared:, shared:], "l2"))
    relation = blocks(turn, turned(products["relation"][shared:, shared:], settings.norm))
    matrices = {"entity": entity, "relation": relation}
    alike = 0.0
    for name, matrix in matrices.items():
        alike += float((new[f"{name}_projection"] @ matrix * old[f"{name}_projection"]).sum())
    sign = -1.0 if alike < 0 else 1.0
    maps = {name: Linear(matrix) for name, matrix in matrices.items()}
    projections = {f"{name}_projection": Linear(sign * matrix) for name, matrix in matrices.items()}
    return SameScores(kind_of(settings), {**maps, **projections})


MODEL = ModelDeclaration(
    name="transd",
    title="TransD",
    model=TransD,
    loss="margin",
    optimizer="sgd",
    learning_rate=0.001,
    has_relation_dimension=True,
    has_norm=True,
    symmetry=_symmetry,
    retrains_anew=True,
    kernels={"score": _score, "add_gradient": _add_gradient},
)
