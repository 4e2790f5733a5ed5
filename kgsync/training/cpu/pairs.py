"""Pairs of a true triple and one with another head or tail: what they share is computed once.

A pair has a kept entity and two others, one true and one false. `score_pair` leaves in `work` what
`add_pair_gradient` needs, so the one is called right after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kgsync.training.cpu.bilinear import add_bilinear, make_query
from kgsync.training.cpu.layout import TRANSD, TRANSE, Triple, inlined, kernel
from kgsync.training.cpu.scores import add_gradient, score
from kgsync.training.cpu.translations import gap_transe, score_transe_pair
from kgsync.training.cpu.vectors import add, dot, slope

__all__ = ["Pair", "add_pair_gradient", "pair_of", "score_pair"]


class Pair(NamedTuple):
    """Rows of a pair."""

    kept: int
    relation: int
    true: int
    false: int
    on_tail: bool
    """Whether the other entity is the tail."""


@kernel
def pair_of(true: Any, false: Any) -> Any:
    """Two triples that share a head, or else a tail, and the relation."""
    if true.head == false.head:
        return Pair(true.head, true.relation, true.tail, false.tail, True)
    return Pair(true.tail, true.relation, true.head, false.head, False)


@inlined
def score_pair(choices: Any, tables: Any, pair: Any, work: Any) -> Any:
    """Scores of the true and of the false triple."""
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    if choices.code == TRANSE:
        turn = np.float32(1 if pair.on_tail else -1)
        return score_transe_pair(choices.norm, kept, r, turn, a, b)
    if choices.code > TRANSD:
        query = work[0, : len(kept)]
        make_query(choices, kept, r, pair.on_tail, query)
        return dot(query, a), dot(query, b)
    true, false = _triples(pair)
    return score(choices, tables, true, work), score(choices, tables, false, work)


@inlined
def add_pair_gradient(
    choices: Any, tables: Any, pair: Any, up: Any, down: Any, sums: Any, at: Any, work: Any
) -> None:
    """Add the gradients of up · f(true) + down · f(false); `at` has the rows of the sums."""
    kept, r = tables.entity[pair.kept], tables.relation[pair.relation]
    a, b = tables.entity[pair.true], tables.entity[pair.false]
    to_kept, to_r = sums.entity[at.kept], sums.relation[at.relation]
    to_a, to_b = sums.entity[at.true], sums.entity[at.false]
    first, second = work[0, : len(kept)], work[1, : len(kept)]
    if choices.code == TRANSE:
        turn = np.float32(1 if pair.on_tail else -1)
        gap_transe(kept, r, turn, a, first)
        gap_transe(kept, r, turn, b, second)
        slope(choices.norm, first, up)
        slope(choices.norm, second, down)
        add(to_a, -1, first)
        add(to_b, -1, second)
        add(first, 1, second)
        add(to_kept, 1, first)
        add(to_r, turn, first)
    elif choices.code > TRANSD:
        add(to_a, up, first)
        add(to_b, down, first)
        for i in range(len(second)):
            second[i] = up * a[i] + down * b[i]
        add_bilinear(choices, kept, r, second, pair.on_tail, to_kept, to_r)
    else:
        true, false = _triples(pair)
        at_true, at_false = _triples(at)
        add_gradient(choices, tables, true, up, sums, at_true, work)
        add_gradient(choices, tables, false, down, sums, at_false, work)


@kernel
def _triples(pair: Any) -> Any:
    if pair.on_tail:
        true = Triple(pair.kept, pair.relation, pair.true)
        return true, Triple(pair.kept, pair.relation, pair.false)
    true = Triple(pair.true, pair.relation, pair.kept)
    return true, Triple(pair.false, pair.relation, pair.kept)
