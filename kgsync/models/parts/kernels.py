"""What the kernels of a model are: parts for the slots below, each a kernel.

`score` and `add_gradient` must be there. The others have defaults that call these two; a model
gives its own where that is faster. Kernels see a model's tables as `tables.entity`,
`tables.relation`, and `tables.entity2` and `tables.relation2` for a second table of either kind.

- `score(tables, triple, work)`: f_r(h, t); `work` has four rows as wide as the widest vector.
- `add_gradient(tables, triple, weight, sums, at, work)`: add weight · ∂f/∂θ for every row θ of the
  triple to the sums, which have the same tables: row `at.head` for the head, and so on.
- `score_pair(tables, pair, work)`: the scores of a positive triple and of one with another head or
  tail. It may leave in `work` what `add_pair_gradient` needs, which is called right after it.
- `add_pair_gradient(tables, pair, up, down, sums, at, work)`: add the gradients of
  up · f(true) + down · f(false); `at` has the rows of the sums.
- `add_own(tables, triple, weight, of_relation, row, sums, own, work)`: add weight · ∂f/∂θ of one
  element's vectors θ to row OWN of the sums; `own` is that row of its first table.
- `add_constraint(tables, relations, sums)`: add the gradient of a soft constraint on the relations
  of a batch, and return its loss; only a model that has the part has a constraint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kgsync.common.kernels import Slot
from kgsync.models.parts.loops import function, inlined

__all__ = [
    "DEFAULTS",
    "OTHER",
    "OWN",
    "Pair",
    "Triple",
    "add_constraint",
    "add_gradient",
    "add_own",
    "add_own_by_gradient",
    "add_pair_gradient",
    "score",
    "score_pair",
]

score: Any = Slot("score")
add_gradient: Any = Slot("add_gradient")
score_pair: Any = Slot("score_pair")
add_pair_gradient: Any = Slot("add_pair_gradient")
add_own: Any = Slot("add_own")
add_constraint: Any = Slot("add_constraint")

OWN, OTHER = 0, 1
"""Rows of the sums of `add_own`: that of the element, and one for all that does not move."""


class Triple(NamedTuple):
    """Rows of a head, a relation and a tail."""

    head: int
    relation: int
    tail: int


class Pair(NamedTuple):
    """Rows of a positive and a negative triple: a kept entity and the two replaced ones."""

    kept: int
    relation: int
    true: int
    false: int
    on_tail: bool
    """Whether the other entity is the tail."""


@inlined
def _score_both(tables: Any, pair: Any, work: Any) -> Any:
    true, false = _triples(pair)
    return score(tables, true, work), score(tables, false, work)


@inlined
def _add_both(tables: Any, pair: Any, up: Any, down: Any, sums: Any, at: Any, work: Any) -> None:
    true, false = _triples(pair)
    at_true, at_false = _triples(at)
    add_gradient(tables, true, up, sums, at_true, work)
    add_gradient(tables, false, down, sums, at_false, work)


@function
def _triples(pair: Any) -> Any:
    if pair.on_tail:
        true = Triple(pair.kept, pair.relation, pair.true)
        return true, Triple(pair.kept, pair.relation, pair.false)
    true = Triple(pair.true, pair.relation, pair.kept)
    return true, Triple(pair.false, pair.relation, pair.kept)


@function
def add_own_by_gradient(
    tables: Any,
    triple: Any,
    weight: Any,
    of_relation: Any,
    row: Any,
    sums: Any,
    _own: Any,
    work: Any,
) -> None:
    """The default of `add_own`."""
    if of_relation:
        at = Triple(OTHER, OWN, OTHER)
        add_gradient(tables, triple, weight, sums, at, work)
    else:
        on_head, on_tail = triple.head == row, triple.tail == row
        at = Triple(OWN if on_head else OTHER, OTHER, OWN if on_tail else OTHER)
        add_gradient(tables, triple, weight, sums, at, work)


@function
def _no_constraint(_tables: Any, _relations: Any, _sums: Any) -> Any:
    return 0.0


DEFAULTS: dict[str, Any] = {
    "score_pair": _score_both,
    "add_pair_gradient": _add_both,
    "add_own": add_own_by_gradient,
    "add_constraint": _no_constraint,
}
