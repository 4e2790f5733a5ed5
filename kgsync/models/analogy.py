"""ANALOGY: a relation is a block-diagonal matrix, half of it scalars, half 2x2 rotations.

The blocks [[a, b], [-b, a]] are complex numbers in disguise.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kgsync.common.kernels import Slot
from kgsync.models.base import Rows, TableSpec, one_vector_each
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts.arrays import Array, joined
from kgsync.models.parts.bilinear import BILINEAR, Bilinear
from kgsync.models.parts.loops import add_product, add_products, function, inlined
from kgsync.models.parts.symmetries import (
    Linear,
    SameScores,
    Symmetry,
    Tables,
    blocks,
    complex_coordinates,
    signed_permutation,
)
from kgsync.models.settings import ModelSettings

__all__ = ["BLOCKS", "MODEL", "Analogy", "symmetry_of"]


class Analogy(Bilinear):
    """f_r(h, t) = hᵀ M t; a vector is [scalars | real parts | imaginary parts]."""

    scalar_share: ClassVar[float] = 0.5
    """Share of the numbers that are scalars."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        return one_vector_each(settings)

    def from_head(self, head: Rows, relation: Rows) -> Array:
        """hᵀ M: scalars multiply, complex numbers multiply."""
        s, re, im = self._parts(head["entity"])
        rs, rre, rim = self._parts(relation["relation"])
        return joined([s * rs, re * rre - im * rim, re * rim + im * rre])

    def from_tail(self, tail: Rows, relation: Rows) -> Array:
        """M t: the relation's complex numbers are conjugated."""
        s, re, im = self._parts(tail["entity"])
        rs, rre, rim = self._parts(relation["relation"])
        return joined([s * rs, re * rre + im * rim, im * rre - re * rim])

    def _parts(self, vectors: Array) -> tuple[Array, Array, Array]:
        width = vectors.shape[-1]
        scalars = int(width * self.scalar_share)
        half = (width - scalars) // 2
        ends = scalars, scalars + half
        return vectors[..., : ends[0]], vectors[..., ends[0] : ends[1]], vectors[..., ends[1] :]


_SCALAR_PARTS: Any = Slot("SCALAR_PARTS")
"""How many of four equal parts of a vector are scalars."""


@inlined
def _make_query(kept: Any, r: Any, on_tail: Any, query: Any) -> None:
    query[:] = 0
    _add_query(kept, r, on_tail, query)


@inlined
def _add_bilinear(kept: Any, r: Any, other: Any, on_tail: Any, to_kept: Any, to_r: Any) -> None:
    h, t = (kept, other) if on_tail else (other, kept)
    _add_query(other, r, not on_tail, to_kept)
    width = len(kept)
    scalars = _SCALAR_PARTS * width // 4
    add_product(to_r[:scalars], 1, h, t)
    middle = scalars + (width - scalars) // 2
    h_a, h_b, t_a, t_b = h[scalars:middle], h[middle:], t[scalars:middle], t[middle:]
    add_products(to_r[scalars:middle], h_a, t_a, 1, h_b, t_b)
    add_products(to_r[middle:], h_a, t_b, -1, h_b, t_a)


@function
def _add_query(kept: Any, r: Any, on_tail: Any, to: Any) -> None:
    width = len(kept)
    scalars = _SCALAR_PARTS * width // 4
    add_product(to[:scalars], 1, kept, r)
    middle = scalars + (width - scalars) // 2
    k_a, k_b = kept[scalars:middle], kept[middle:]
    r_a, r_b = r[scalars:middle], r[middle:]
    turn = 1 if on_tail else -1
    add_products(to[scalars:middle], k_a, r_a, -turn, k_b, r_b)
    add_products(to[middle:], k_b, r_a, turn, k_a, r_b)


BLOCKS: dict[str, Any] = {**BILINEAR, "make_query": _make_query, "add_bilinear": _add_bilinear}
"""The kernels of block-diagonal matrices, but for the constant SCALAR_PARTS."""


def symmetry_of(scalar_share: float) -> Symmetry:
    """Of models in which so large a share of the numbers are scalars."""

    def symmetry(settings: ModelSettings, new: Tables, old: Tables) -> SameScores:
        """Scalars as in DistMult; complex coordinates of entities are exchanged and turned.

        A turn cancels out, as the tail is conjugated. If a coordinate of all vectors is conjugated,
        the real part of the product stays the same.
        """
        scalars = int(settings.dimension * scalar_share)
        products = {name: new[name].T @ old[name] for name in ("entity", "relation")}
        first = slice(None, scalars)
        plain = signed_permutation(
            products["entity"][first, first], products["relation"][first, first]
        )
        gains = products["relation"][scalars:, scalars:]
        half = len(gains) // 2
        real, imaginary = gains[:half, :half], gains[half:, half:]
        entity, relation = complex_coordinates(
            new["entity"][:, scalars:],
            old["entity"][:, scalars:],
            real + imaginary,
            real - imaginary,
        )
        maps = {
            "entity": Linear(blocks(plain, entity)),
            "relation": Linear(blocks(abs(plain), relation)),
        }
        return SameScores("permutation and turns of coordinates", maps)

    return symmetry


MODEL = ModelDeclaration(
    name="analogy",
    title="ANALOGY",
    model=Analogy,
    loss="logistic",
    optimizer="adagrad",
    learning_rate=0.1,
    longer_is_likelier=True,
    divisor=4,
    has_penalty=True,
    symmetry=symmetry_of(Analogy.scalar_share),
    kernels={**BLOCKS, "SCALAR_PARTS": 2},
)
