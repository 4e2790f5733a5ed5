"""ANALOGY: a relation is a block-diagonal matrix, half of it scalars, half 2x2 rotations.

The blocks [[a, b], [-b, a]] are complex numbers in disguise.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kgsync.common.kernels import Slot
from kgsync.models.arrays import Array, joined
from kgsync.models.base import Rows, TableSpec, one_vector_each
from kgsync.models.bilinear import BILINEAR, Bilinear
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.loops import add_product, add_products, function, inlined
from kgsync.models.settings import ModelSettings

__all__ = ["BLOCKS", "MODEL", "Analogy"]


class Analogy(Bilinear):
    """f_r(h, t) = hᵀ M t; a vector is [scalars | real parts | imaginary parts]."""

    scalar_share: ClassVar[float] = 0.5
    """Share of the numbers that are scalars."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation.

        Raises:
            ConfigError: The dimension cannot be halved as the model needs it.
        """
        return one_vector_each(settings, 4 if cls.scalar_share else 2)

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

MODEL = ModelDeclaration(
    name="analogy",
    title="ANALOGY",
    model=Analogy,
    loss="logistic",
    optimizer="adagrad",
    learning_rate=0.1,
    divisor=4,
    has_penalty=True,
    kernels={**BLOCKS, "SCALAR_PARTS": 2},
)
