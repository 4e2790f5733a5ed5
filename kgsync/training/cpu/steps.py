"""Gradient steps over batches of pairs of a true and a false triple."""

from __future__ import annotations

from math import exp, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kgsync.training.cpu.drawing import draw_false, mix_number
from kgsync.training.cpu.layout import FAST, TRANSH, Tables
from kgsync.training.cpu.pairs import Pair, add_pair_gradient, score_pair
from kgsync.training.cpu.scores import Triple, add_gradient, score

__all__ = ["Scratch", "run_batches", "scratch_for"]

_EPSILON = 1e-10  # Adagrad's
_CONSTRAINT, _TOLERANCE = 1 / 64, 1e-3  # TransH's


class Scratch(NamedTuple):
    """Memory of one thread: gradient sums of the rows that a batch touches, and which these are."""

    sums: Tables
    entity_rows: NDArray[np.int32]
    relation_rows: NDArray[np.int32]
    entity_uses: NDArray[np.int32]
    """How often each of these rows occurs in the batch."""
    relation_uses: NDArray[np.int32]
    entity_slots: NDArray[np.int32]
    """For each entity row its place in the sums, or -1."""
    relation_slots: NDArray[np.int32]
    false: NDArray[np.int32]
    """False triples of a batch; head -1 where there is none."""
    work: NDArray[np.float32]


def scratch_for(tables: Tables, pairs: int) -> Scratch:
    """Memory for batches of so many pairs."""
    entities, relations = len(tables.entity), len(tables.relation)
    most_entities, most_relations = min(entities, 4 * pairs), min(relations, 2 * pairs)
    widths = [table.shape[1] for table in tables]
    counts = (most_entities, most_relations) * 2
    sums = Tables(
        *(np.zeros((n if w else 0, w), np.float32) for n, w in zip(counts, widths, strict=True))
    )
    return Scratch(
        sums,
        np.empty(most_entities, np.int32),
        np.empty(most_relations, np.int32),
        np.empty(most_entities, np.int32),
        np.empty(most_relations, np.int32),
        np.full(entities, -1, np.int32),
        np.full(relations, -1, np.int32),
        np.empty((pairs, 3), np.int32),
        np.empty((4, max(widths)), np.float32),
    )


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def run_batches(
    choices: Any,
    tables: Any,
    squares: Any,
    moving: Any,
    triples: Any,
    order: Any,
    given: Any,
    known: Any,
    bounds: Any,
    first: Any,
    stride: Any,
    rate: Any,
    at_once: Any,
    seed: Any,
    scratch: Any,
) -> Any:
    """Take batches first, first + stride, ...; one step each.

    Args:
        choices: The model's choices.
        tables: Its tables, changed in place.
        squares: Adagrad's sums, of the same layout, changed in place.
        moving: For entities and relations, whether a row may move.
        triples: True triples, one a row.
        order: Positions of the triples in the order of the epoch.
        given: False triples in that order; where it is empty they are drawn.
        known: Triples that are never drawn.
        bounds: Ends of the batches in that order, from 0.
        first: First batch to take.
        stride: Step from batch to batch.
        rate: Learning rate.
        at_once: The rate again, as a single, to take the step of each pair at once; or zero.
        seed: Key of the draws.
        scratch: Memory of this thread.

    Returns:
        Sum of the batches' losses, number of scored triples, number of moved rows.
    """
    total, scored, moved = 0.0, 0, 0
    for batch in range(first, len(bounds) - 1, stride):
        begin, end = bounds[batch], bounds[batch + 1]
        pairs = _false_triples(triples, order, given, known, begin, end, seed, scratch)
        if pairs == 0:
            continue
        loss, entities, relations, steps = _gradients(
            choices, tables, moving, triples, order, begin, end, pairs, at_once, scratch
        )
        if choices.code == TRANSH:
            loss += _add_constraint(tables, relations, scratch)
        moved += _apply(choices, tables, squares, moving, rate, entities, relations, scratch)
        moved += steps
        total += loss
        scored += 2 * pairs
    return total, scored, moved


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _false_triples(
    triples: Any, order: Any, given: Any, known: Any, begin: Any, end: Any, seed: Any, scratch: Any
) -> Any:
    """Fill in the false triples of a batch; returns for how many pairs there is one."""
    pairs = 0
    for position in range(begin, end):
        false = scratch.false[position - begin]
        if len(given):
            false[:] = given[position]
        else:
            at = order[position]
            head, r, tail = triples[at]
            key = mix_number(seed ^ np.uint64(position))
            h, t = draw_false(known, np.int64(head), np.int64(r), np.int64(tail), key)
            false[0], false[1], false[2] = h, r, t
        pairs += false[0] >= 0
    return pairs


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _gradients(
    choices: Any,
    tables: Any,
    moving: Any,
    triples: Any,
    order: Any,
    begin: Any,
    end: Any,
    pairs: Any,
    at_once: Any,
    scratch: Any,
) -> Any:
    """Sum the gradients of a batch, or take the step of every pair at once.

    Returns the loss, how many entities and relations have sums, and how many rows have moved.
    """
    loss, entities, relations, steps = 0.0, 0, 0, 0
    share = np.float32(0.5 / pairs)
    sums, work = scratch.sums, scratch.work
    for position in range(begin, end):
        at = order[position]
        true = Triple(triples[at, 0], triples[at, 1], triples[at, 2])
        h, r, t = scratch.false[position - begin]
        if h < 0:
            continue
        false = Triple(h, r, t)
        corrupted = r == true.relation and (h == true.head or t == true.tail)
        pair = _pair(true, false)
        if corrupted:
            right, wrong = score_pair(choices, tables, pair, work)
        else:
            right = score(choices, tables, true, work)
            wrong = score(choices, tables, false, work)
        cost, up, down = _slopes(choices, right, wrong, share)
        loss += cost
        if choices.code == TRANSH:
            # The constraint holds for all relations of a batch.
            _, relations = _relation_slot(true.relation, relations, scratch)
            _, relations = _relation_slot(r, relations, scratch)
        if cost == 0:
            continue
        if corrupted and at_once and _all_move(moving, pair):
            up, down = -at_once * up, -at_once * down
            add_pair_gradient(choices, tables, pair, up, down, tables, pair, work)
            steps += 4
        elif corrupted:
            slots, entities, relations = _pair_slots(pair, entities, relations, scratch)
            add_pair_gradient(choices, tables, pair, up, down, sums, slots, work)
        else:
            slots_, entities, relations = _triple_slots(true, entities, relations, scratch)
            add_gradient(choices, tables, true, up, sums, slots_, work)
            slots_, entities, relations = _triple_slots(false, entities, relations, scratch)
            add_gradient(choices, tables, false, down, sums, slots_, work)
    if choices.l2_penalty:
        weight = choices.l2_penalty * share
        rows, uses = scratch.entity_rows[:entities], scratch.entity_uses
        loss += _add_penalty(tables.entity, rows, uses, weight, sums.entity)
        rows, uses = scratch.relation_rows[:relations], scratch.relation_uses
        loss += _add_penalty(tables.relation, rows, uses, weight, sums.relation)
    return loss, entities, relations, steps


@njit(cache=True, error_model="numpy")
def _all_move(moving: Any, pair: Any) -> Any:
    entities, relations = moving
    return (
        entities[pair.kept]
        and entities[pair.true]
        and entities[pair.false]
        and relations[pair.relation]
    )


@njit(cache=True, error_model="numpy")
def _slopes(choices: Any, right: Any, wrong: Any, share: Any) -> Any:
    """Loss of a pair, and its slopes by the two scores."""
    if choices.logistic:
        value, up = _softplus(-right)
        false_value, down = _softplus(wrong)
        return share * (value + false_value), -share * up, share * down
    hinge = np.float64(choices.margin - right + wrong)
    one = np.float32(1)
    # NaN is passed on, so that it ends the run.
    return (hinge if hinge > 0 or hinge != hinge else 0.0), -one, one  # noqa: PLR0124


@njit(cache=True, error_model="numpy")
def _pair(true: Any, false: Any) -> Any:
    if true.head == false.head:
        return Pair(true.head, true.relation, true.tail, false.tail, True)
    return Pair(true.tail, true.relation, true.head, false.head, False)


@njit(cache=True, error_model="numpy")
def _pair_slots(pair: Any, entities: Any, relations: Any, scratch: Any) -> Any:
    """The places of a pair's rows, whose uses are counted, and how many places are used."""
    kept, entities = _entity_slot(pair.kept, entities, scratch)
    right, entities = _entity_slot(pair.true, entities, scratch)
    wrong, entities = _entity_slot(pair.false, entities, scratch)
    relation, relations = _relation_slot(pair.relation, relations, scratch)
    scratch.entity_uses[kept] += 2
    scratch.entity_uses[right] += 1
    scratch.entity_uses[wrong] += 1
    scratch.relation_uses[relation] += 2
    return Pair(kept, relation, right, wrong, pair.on_tail), entities, relations


@njit(cache=True, error_model="numpy")
def _triple_slots(triple: Any, entities: Any, relations: Any, scratch: Any) -> Any:
    head, entities = _entity_slot(triple.head, entities, scratch)
    tail, entities = _entity_slot(triple.tail, entities, scratch)
    relation, relations = _relation_slot(triple.relation, relations, scratch)
    scratch.entity_uses[head] += 1
    scratch.entity_uses[tail] += 1
    scratch.relation_uses[relation] += 1
    return Triple(head, relation, tail), entities, relations


@njit(cache=True, error_model="numpy")
def _entity_slot(row: Any, used: Any, scratch: Any) -> Any:
    """The place of a row in the sums, and how many places are used."""
    slot = scratch.entity_slots[row]
    if slot >= 0:
        return np.int64(slot), used
    scratch.entity_slots[row] = used
    scratch.entity_rows[used] = row
    scratch.entity_uses[used] = 0
    scratch.sums.entity[used] = 0
    if scratch.sums.entity2.shape[1]:
        scratch.sums.entity2[used] = 0
    return np.int64(used), used + 1


@njit(cache=True, error_model="numpy")
def _relation_slot(row: Any, used: Any, scratch: Any) -> Any:
    slot = scratch.relation_slots[row]
    if slot >= 0:
        return np.int64(slot), used
    scratch.relation_slots[row] = used
    scratch.relation_rows[used] = row
    scratch.relation_uses[used] = 0
    scratch.sums.relation[used] = 0
    if scratch.sums.relation2.shape[1]:
        scratch.sums.relation2[used] = 0
    return np.int64(used), used + 1


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_penalty(table: Any, rows: Any, uses: Any, weight: Any, sums: Any) -> Any:
    """L2 penalty on the mean squares of the vectors of a batch, as often as they are used."""
    loss = 0.0
    for slot in range(len(rows)):
        row, to = table[rows[slot]], sums[slot]
        scale = np.float32(weight * uses[slot] / len(row))
        double = np.float32(2) * scale
        total: Any = np.float32(0)
        for i in range(len(row)):
            total += row[i] * row[i]
            to[i] += double * row[i]
        loss += scale * total
    return loss


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _add_constraint(tables: Any, relations: Any, scratch: Any) -> Any:
    """TransH's soft constraint that translations lie on their hyperplanes; returns its loss."""
    loss = 0.0
    for slot in range(relations):
        row = scratch.relation_rows[slot]
        r, w = tables.relation[row], tables.relation2[row]
        rr, ww, rw = 0.0, 0.0, 0.0
        for i in range(len(r)):
            rr += r[i] * r[i]
            ww += w[i] * w[i]
            rw += r[i] * w[i]
        if rr == 0 or ww == 0:
            continue
        squared = rw * rw / (rr * ww)
        if squared > _TOLERANCE * _TOLERANCE:
            loss += _CONSTRAINT * (squared - _TOLERANCE * _TOLERANCE)
            scale = np.float32(_CONSTRAINT * 2 * rw / (rr * ww))
            to_r, to_w = scratch.sums.relation[slot], scratch.sums.relation2[slot]
            by_r, by_w = np.float32(rw / rr), np.float32(rw / ww)
            for i in range(len(r)):
                to_r[i] += scale * (w[i] - by_r * r[i])
                to_w[i] += scale * (r[i] - by_w * w[i])
    return loss


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _apply(
    choices: Any,
    tables: Any,
    squares: Any,
    moving: Any,
    rate: Any,
    entities: Any,
    relations: Any,
    scratch: Any,
) -> Any:
    """Move the touched rows against their gradients and forget the sums; returns how many moved."""
    moved = 0
    sums = scratch.sums
    for slot in range(entities):
        row = scratch.entity_rows[slot]
        scratch.entity_slots[row] = -1
        if moving[0][row]:
            moved += 1
            _move(choices, tables.entity, squares.entity, row, sums.entity[slot], rate)
            if sums.entity2.shape[1]:
                _move(choices, tables.entity2, squares.entity2, row, sums.entity2[slot], rate)
    for slot in range(relations):
        row = scratch.relation_rows[slot]
        scratch.relation_slots[row] = -1
        if moving[1][row]:
            moved += 1
            _move(choices, tables.relation, squares.relation, row, sums.relation[slot], rate)
            if sums.relation2.shape[1]:
                _move(choices, tables.relation2, squares.relation2, row, sums.relation2[slot], rate)
    return moved


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _move(choices: Any, table: Any, squares: Any, row: Any, gradient: Any, rate: Any) -> None:
    vector, step = table[row], np.float32(rate)
    if choices.adagrad:
        sums = squares[row]
        for i in range(len(vector)):
            sums[i] += gradient[i] * gradient[i]
            vector[i] -= step * gradient[i] / (sqrt(sums[i]) + np.float32(_EPSILON))
    else:
        for i in range(len(vector)):
            vector[i] -= step * gradient[i]


@njit(cache=True, error_model="numpy")
def _softplus(x: Any) -> Any:
    """log(1 + exp(x)) and its slope."""
    small = exp(-abs(x))
    slope = 1 / (1 + small)
    return max(x, 0.0) + log1p(small), np.float32(slope if x >= 0 else small * slope)
