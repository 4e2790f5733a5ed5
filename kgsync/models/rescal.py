"""RESCAL: a relation is a full matrix."""

from __future__ import annotations

from typing import Any

from kgsync.models.base import Rows, TableSpec
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import Array, einsum, products_in_order
from kgsync.models.parts.bilinear import BILINEAR, Bilinear
from kgsync.models.parts.loops import add, dot, function, inlined
from kgsync.models.parts.symmetries import Linear, OnBothSides, SameScores, Tables, turned
from kgsync.models.settings import ModelSettings

__all__ = ["MODEL", "Rescal"]


class Rescal(Bilinear):
    """f_r(h, t) = hᵀ M t; M is kept as a row of d² numbers."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity, one matrix per relation."""
        width = settings.dimension
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width**2)}

    def from_head(self, head: Rows, relation: Rows) -> Array:
        """hᵀ M."""
        return einsum("bi,bij->bj", head["entity"], self._matrices(relation))

    def from_tail(self, tail: Rows, relation: Rows) -> Array:
        """M t."""
        return einsum("bij,bj->bi", self._matrices(relation), tail["entity"])

    def tail_queries(self, head: Rows, relation: Rows) -> Array:
        """As `from_head`, without a matrix product."""
        return products_in_order(head["entity"], self._matrices(relation))

    def head_queries(self, tail: Rows, relation: Rows) -> Array:
        """As `from_tail`, without a matrix product."""
        return products_in_order(tail["entity"], self._matrices(relation).swapaxes(1, 2))

    def _matrices(self, relation: Rows) -> Array:
        width = self.settings.dimension
        return relation["relation"].reshape(-1, width, width)


@inlined
def _make_query(kept: Any, r: Any, on_tail: Any, query: Any) -> None:
    query[:] = 0
    _add_query(kept, r, on_tail, query)


@inlined
def _add_bilinear(kept: Any, r: Any, other: Any, on_tail: Any, to_kept: Any, to_r: Any) -> None:
    h, t = (kept, other) if on_tail else (other, kept)
    _add_query(other, r, not on_tail, to_kept)
    width = len(kept)
    for i in range(width):
        add(to_r[i * width : (i + 1) * width], h[i], t)


@function
def _add_query(kept: Any, r: Any, on_tail: Any, to: Any) -> None:
    width = len(kept)
    for i in range(width):
        row = r[i * width : (i + 1) * width]
        if on_tail:
            add(to, kept[i], row)
        else:
            to[i] += dot(row, kept)


def _symmetry(_settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
    """Entities are turned, and M becomes QᵀMQ. Entities decide: both have no closed form."""
    matrix = turned(new["entity"].T @ old["entity"], "l2")
    return SameScores("orthogonal map", {"entity": Linear(matrix), "relation": OnBothSides(matrix)})


MODEL = ModelDeclaration(
    name="rescal",
    title="RESCAL",
    model=Rescal,
    loss="margin",  # OpenKE gives RESCAL no penalty
    optimizer="adagrad",
    learning_rate=0.1,
    longer_is_likelier=True,
    dimension=50,
    symmetry=_symmetry,
    retrains_anew=True,
    kernels={**BILINEAR, "make_query": _make_query, "add_bilinear": _add_bilinear},
)
