"""Gradient steps over batches of pairs of a positive and a negative triple."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.kernels import FAST, Slot
from kgsync.common.kernels import kernel as marked
from kgsync.models.parts.kernels import (
    Pair,
    Triple,
    add_constraint,
    add_gradient,
    add_pair_gradient,
    score,
    score_pair,
)
from kgsync.models.parts.loops import function
from kgsync.models.parts.loss_kernels import slopes
from kgsync.training.cpu.drawing import Corruptions, draw_into
from kgsync.training.cpu.layout import Parameters, Tables, inlined, kernel, triple_at
from kgsync.training.cpu.memory import borrow
from kgsync.training.cpu.sums import fetch_ahead, forget, move_all, place

__all__ = ["Learner", "Pairs", "run_batches"]


_CONSTRAINED: Any = Slot("CONSTRAINED")
_BY_PAIR: Any = Slot("BY_PAIR")


class Learner(NamedTuple):
    """A model in training."""

    parameters: Parameters
    tables: Tables
    states: Tables
    """What the optimiser keeps of the tables."""
    moving: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    """For entities and relations, whether a row may move."""
    source: Corruptions
    """The data for negative sampling."""


class Pairs(NamedTuple):
    """The training pairs."""

    true: NDArray[np.int32]
    """Positives, one per row."""
    false: NDArray[np.int32]
    """Negatives, head -1 where there is none; if empty, they are sampled."""
    order: NDArray[np.int32]
    """The order of the positives, if negatives are sampled."""
    bounds: NDArray[np.int64]
    """Ends of the batches, from 0."""
    seed: np.uint64
    """Key of the random numbers."""
    share: np.float32
    """Weight of a score in a loss that is averaged; 0 averages over the batch."""


@marked(FAST, nogil=True)
def run_batches(
    learner: Any, pairs: Any, first: Any, stride: Any, rate: Any, at_once: Any, scratch: Any
) -> Any:
    """Take batches first, first + stride, ...; one step each.

    Args:
        learner: The model, changed in place.
        pairs: All batches.
        first: First batch to take.
        stride: Step from batch to batch.
        rate: Learning rate, a single.
        at_once: Whether to take a gradient step after every pair.
        scratch: Memory of this thread.

    Returns:
        Sum of the batches' losses, number of scored triples, number of moved rows.
    """
    learner, pairs, scratch = borrow(learner), borrow(pairs), borrow(scratch)
    total, scored, moved = 0.0, 0, 0
    for batch in range(first, len(pairs.bounds) - 1, stride):
        begin, end = pairs.bounds[batch], pairs.bounds[batch + 1]
        true, false = pairs.true[begin:end], pairs.false[begin:end]
        if len(pairs.false) == 0:
            true, false = scratch.true[: end - begin], scratch.false[: end - begin]
            for at in range(end - begin):
                row = pairs.order[begin + at]
                for column in range(3):
                    true[at, column] = pairs.true[row, column]
            draw_into(false, true, learner.source, pairs.seed, begin)
        count = 0
        for at in range(len(false)):
            count += false[at, 0] >= 0
        if count == 0:
            continue
        share = pairs.share if pairs.share > 0 else np.float32(0.5 / count)
        loss, steps = _gradients(
            learner, true, false, share, np.float32(rate if at_once else 0), scratch
        )
        total += loss + _apply(learner, share, rate, scratch)
        moved += steps + forget(scratch.entities, learner.moving[0])
        moved += forget(scratch.relations, learner.moving[1])
        scored += 2 * count
    return total, scored, moved


@function
def _gradients(
    learner: Any, trues: Any, falses: Any, share: Any, at_once: Any, scratch: Any
) -> Any:
    """Sum the gradients of a batch; at a rate above zero, take the step of every pair at once.

    Returns the loss and how many rows have moved.
    """
    tables, sums, work = learner.tables, scratch.sums, scratch.work
    # Passed on one by one: a tuple of many takes longer.
    entities, relations = scratch.entities, scratch.relations
    loss, steps = 0.0, 0
    for at in range(len(trues)):
        if falses[at, 0] < 0:
            continue
        fetch_ahead(tables, trues, falses, at)
        true, false = triple_at(trues, at), triple_at(falses, at)
        shares_one = true.head == false.head or true.tail == false.tail
        corrupted = true.relation == false.relation and shares_one
        pair = _pair_of(true, false)
        if corrupted:
            right, wrong = score_pair(tables, pair, work)
        else:
            right = score(tables, true, work)
            wrong = score(tables, false, work)
        cost, up, down = slopes(learner.parameters.margin, right, wrong, share)
        loss += cost
        if _CONSTRAINED:
            # The constraint holds for all relations of a batch.
            place(relations, true.relation, 0)
            place(relations, false.relation, 0)
        if cost == 0:
            continue
        if _BY_PAIR and corrupted and at_once and _all_move(learner.moving, pair):
            up, down = -at_once * up, -at_once * down
            add_pair_gradient(tables, pair, up, down, tables, pair, work)
            steps += 4
        elif corrupted:
            places = _places_of_pair(pair, entities, relations)
            add_pair_gradient(tables, pair, up, down, sums, places, work)
        else:
            places_ = _places_of(true, entities, relations)
            add_gradient(tables, true, up, sums, places_, work)
            places_ = _places_of(false, entities, relations)
            add_gradient(tables, false, down, sums, places_, work)
    return loss, steps


@kernel
def _all_move(moving: Any, pair: Any) -> Any:
    entities, relations = moving
    others = entities[pair.true] and entities[pair.false]
    return others and entities[pair.kept] and relations[pair.relation]


@kernel
def _pair_of(true: Any, false: Any) -> Any:
    """Two triples that share a head, or else a tail, and the relation."""
    if true.head == false.head:
        return Pair(true.head, true.relation, true.tail, false.tail, True)
    return Pair(true.tail, true.relation, true.head, false.head, False)


@inlined
def _places_of_pair(pair: Any, entities: Any, relations: Any) -> Any:
    return Pair(
        place(entities, pair.kept, 2),
        place(relations, pair.relation, 2),
        place(entities, pair.true, 1),
        place(entities, pair.false, 1),
        pair.on_tail,
    )


@kernel
def _places_of(triple: Any, entities: Any, relations: Any) -> Any:
    head, tail = place(entities, triple.head, 1), place(entities, triple.tail, 1)
    return Triple(head, place(relations, triple.relation, 1), tail)


@function
def _apply(learner: Any, share: Any, rate: Any, scratch: Any) -> Any:
    """Move the rows that have sums; returns the loss by constraint and penalty."""
    tables, states, sums = learner.tables, learner.states, scratch.sums
    loss = 0.0
    if _CONSTRAINED:
        loss += add_constraint(tables, scratch.relations, sums)
    penalty = learner.parameters.l2_penalty * share
    entities, relations = scratch.entities, scratch.relations
    may, might = learner.moving
    kinds = (
        (entities, may, tables.entity, states.entity, sums.entity),
        (entities, may, tables.entity2, states.entity2, sums.entity2),
        (relations, might, tables.relation, states.relation, sums.relation),
        (relations, might, tables.relation2, states.relation2, sums.relation2),
    )
    for places, moving, table, state, gradients in kinds:
        loss += move_all(places, moving, table, state, gradients, rate, penalty)
    return loss
