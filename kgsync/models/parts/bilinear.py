"""What the semantic matching models share: the score is linear in the head and in the tail.

Their kernels make a query of the kept entity and the relation, hᵀM or Mt; f = query · other. A
model gives them two more parts: `make_query(kept, r, on_tail, query)` fills in the query for tails,
if `on_tail`, or for heads; `add_bilinear(kept, r, other, on_tail, to_kept, to_r)` adds the
gradients of the kept entity and of the relation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from kgsync.common.kernels import Slot
from kgsync.models.base import Model, Rows
from kgsync.models.parts.arrays import Array
from kgsync.models.parts.distances import products_with_all
from kgsync.models.parts.loops import add, dot, function, inlined

__all__ = ["BILINEAR", "Bilinear"]


class Bilinear(Model):
    """f_r(h, t) = hᵀ M t, where M is the matrix of r, in whatever form the model keeps it."""

    @abstractmethod
    def from_head(self, head: Rows, relation: Rows) -> Array:
        """hᵀ M, row by row: what a tail is multiplied with."""

    @abstractmethod
    def from_tail(self, tail: Rows, relation: Rows) -> Array:
        """M t, row by row: what a head is multiplied with."""

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Array:
        """hᵀ M t."""
        return (self.from_head(head, relation) * tail["entity"]).sum(-1)

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Array:
        """hᵀ M with every candidate."""
        return products_with_all(self.tail_queries(head, relation), candidates["entity"])

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Array:
        """M t with every candidate."""
        return products_with_all(self.head_queries(tail, relation), candidates["entity"])

    def tail_queries(self, head: Rows, relation: Rows) -> Array:
        """hᵀ M, and the same bits whichever rows there are besides."""
        return self.from_head(head, relation)

    def head_queries(self, tail: Rows, relation: Rows) -> Array:
        """M t, like `tail_queries`."""
        return self.from_tail(tail, relation)


_make_query: Any = Slot("make_query")
_add_bilinear: Any = Slot("add_bilinear")


@function
def _score(tables: Any, triple: Any, work: Any) -> Any:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    query = work[0, : len(h)]
    _make_query(h, r, True, query)
    return dot(query, t)


@function
def _add_gradient(tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any) -> None:
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    to_h, to_r, to_t = sums.entity[at.head], sums.relation[at.relation], sums.entity[at.tail]
    query, other = work[0, : len(h)], work[1, : len(h)]
    _make_query(h, r, True, query)
    add(to_t, weight, query)
    for i in range(len(other)):
        other[i] = np.float32(weight) * t[i]
    _add_bilinear(h, r, other, True, to_h, to_r)


@inlined
def _score_pair(tables: Any, pair: Any, work: Any) -> Any:
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    query = work[0, : len(kept)]
    _make_query(kept, r, pair.on_tail, query)
    return dot(query, a), dot(query, b)


@inlined
def _add_pair_gradient(
    tables: Any, pair: Any, up: Any, down: Any, sums: Any, at: Any, work: Any
) -> None:
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    to_kept, to_r = sums.entity[at.kept], sums.relation[at.relation]
    to_a, to_b = sums.entity[at.true], sums.entity[at.false]
    query, other = work[0, : len(kept)], work[1, : len(kept)]
    add(to_a, up, query)
    add(to_b, down, query)
    for i in range(len(other)):
        other[i] = up * a[i] + down * b[i]
    _add_bilinear(kept, r, other, pair.on_tail, to_kept, to_r)


BILINEAR: dict[str, Any] = {
    "score": _score,
    "add_gradient": _add_gradient,
    "score_pair": _score_pair,
    "add_pair_gradient": _add_pair_gradient,
}
"""The kernels of these models, but for those two parts."""
