"""DistMult: a relation weights the coordinates that head and tail share."""

from __future__ import annotations

from typing import Any

from kgsync.models.base import Rows, TableSpec, one_vector_each
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import Array
from kgsync.models.parts.bilinear import BILINEAR, Bilinear
from kgsync.models.parts.loops import add_product, function, inlined
from kgsync.models.parts.symmetries import Linear, SameScores, Tables, signed_permutation
from kgsync.models.settings import ModelSettings

__all__ = ["MODEL", "DistMult"]


class DistMult(Bilinear):
    """f_r(h, t) = Σ h·r·t, symmetric in h and t: M is diagonal."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        return one_vector_each(settings)

    def from_head(self, head: Rows, relation: Rows) -> Array:
        """h·r."""
        return head["entity"] * relation["relation"]

    def from_tail(self, tail: Rows, relation: Rows) -> Array:
        """r·t."""
        return tail["entity"] * relation["relation"]


@inlined
def _make_query(kept: Any, r: Any, _on_tail: Any, query: Any) -> None:
    for i in range(len(kept)):
        query[i] = kept[i] * r[i]


@inlined
def _add_bilinear(kept: Any, r: Any, other: Any, _on_tail: Any, to_kept: Any, to_r: Any) -> None:
    add_product(to_r, 1, kept, other)
    add_product(to_kept, 1, r, other)


@function
def _add_own(
    tables: Any,
    triple: Any,
    weight: Any,
    of_relation: Any,
    row: Any,
    _sums: Any,
    own: Any,
    _work: Any,
) -> None:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    if of_relation:
        add_product(own, weight, h, t)
        return
    if triple.head == row:
        add_product(own, weight, r, t)
    if triple.tail == row:
        add_product(own, weight, h, r)


def _symmetry(_settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
    """Coordinates are exchanged; those of entities may change their signs, which cancel out."""
    products = {name: new[name].T @ old[name] for name in ("entity", "relation")}
    matrix = signed_permutation(products["entity"], products["relation"])
    maps = {"entity": Linear(matrix), "relation": Linear(abs(matrix))}
    return SameScores("signed permutation", maps)


MODEL = ModelDeclaration(
    name="distmult",
    title="DistMult",
    model=DistMult,
    loss="logistic",
    optimizer="adagrad",
    learning_rate=0.1,
    longer_is_likelier=True,
    has_penalty=True,
    symmetry=_symmetry,
    kernels={
        **BILINEAR,
        "make_query": _make_query,
        "add_bilinear": _add_bilinear,
        "add_own": _add_own,
    },
)
