"""The kernels of pretraining: new elements, one by one, while all other rows are frozen."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.kernels import FAST
from kgsync.common.kernels import kernel as marked
from kgsync.graph.hashing import Hashes
from kgsync.models.kernels import Triple, add_own, score
from kgsync.models.loops import copy, function
from kgsync.training.cpu.keyed import draw, search
from kgsync.training.cpu.layout import Matrix, Tables
from kgsync.training.cpu.randomness import mix_number
from kgsync.training.cpu.slopes import LOGISTIC, softplus
from kgsync.training.cpu.sums import ADAGRAD
from kgsync.training.optimizers import EPSILON
from kgsync.training.pretraining import DECAY, FALL, WAIT

__all__ = ["Elements", "Part", "Scratch", "train_elements"]


class Elements(NamedTuple):
    """The new elements."""

    rows: NDArray[np.int64]
    keys: Hashes
    bounds: NDArray[np.int64]
    """Where the triples of each element begin."""
    triples: NDArray[np.int64]
    """One triple per row."""
    order: NDArray[np.int64]
    """In which triples are taken; those of an element stay between its bounds."""
    turns: NDArray[np.int64]
    """In which elements are taken: the largest first, so that threads end together."""


class Part(NamedTuple):
    """One of an element's vectors in training; of no numbers if the model has only one."""

    table: Matrix
    gradient: NDArray[np.float32]
    best: NDArray[np.float32]
    squares: NDArray[np.float32]
    """Adagrad's sums."""


class Scratch(NamedTuple):
    """Memory of one thread."""

    sums: Tables
    parts: tuple[Part, Part]
    heads: NDArray[np.int64]
    """Heads of the negatives sampled for a positive."""
    tails: NDArray[np.int64]
    asked: NDArray[np.int64]
    """For heads and tails the last query looked through: relation, other entity, how many free."""
    free: NDArray[np.int64]
    """For each query, the surviving entities that make a negative."""
    work: Matrix


@marked(FAST, nogil=True)
def train_elements(
    margin: Any,
    tables: Any,
    of_relation: Any,
    elements: Any,
    source: Any,
    epochs: Any,
    rate: Any,
    scratch: Any,
    first: Any,
    stride: Any,
) -> Any:
    """Train elements first, first + stride, ...; returns how many scores and steps it took."""
    scored, steps = 0, 0
    for turn in range(first, len(elements.turns), stride):
        element = elements.turns[turn]
        triples = elements.bounds[element + 1] - elements.bounds[element]
        ran, moved = _train_one(
            margin, tables, of_relation, elements, element, source, epochs, rate, scratch
        )
        scored += ran * triples * (1 + len(scratch.heads))
        steps += moved
    return scored, steps


@function
def _train_one(
    margin: Any,
    tables: Any,
    of_relation: Any,
    elements: Any,
    element: Any,
    source: Any,
    epochs: Any,
    rate: Any,
    scratch: Any,
) -> Any:
    """Train one element; returns how many epochs it took and how many of them moved it."""
    row = elements.rows[element]
    for part in scratch.parts:
        copy(part.best, part.table[row])
        part.squares[:] = 0
    best, reference, waited = np.float32(np.inf), np.float32(np.inf), 0
    ran, moved = 0, 0
    for epoch in range(epochs):
        for part in scratch.parts:
            part.gradient[:] = 0
        loss, share = _gradient(
            margin, tables, of_relation, elements, element, source, epoch, scratch
        )
        ran += 1
        if loss < best:
            best = loss
            for part in scratch.parts:
                copy(part.best, part.table[row])
        if loss < reference * np.float32(1 - FALL):
            reference, waited = loss, 0
        else:
            waited += 1
        if waited >= WAIT:
            rate, waited = rate * np.float32(DECAY), 0
        if not loss > 0:
            break
        moved += 1
        for part in scratch.parts:
            _move(part.table[row], part.gradient, part.squares, share, rate)
    for part in scratch.parts:
        copy(part.table[row], part.best)
    return ran, moved


@function
def _move(vector: Any, gradient: Any, squares: Any, share: Any, rate: Any) -> None:
    if not ADAGRAD:
        factor = rate * share
        for i in range(len(vector)):
            vector[i] -= factor * gradient[i]
        return
    for i in range(len(vector)):
        slope = share * gradient[i]
        squares[i] += slope * slope
        vector[i] -= rate * slope / (np.float32(sqrt(squares[i])) + np.float32(EPSILON))


@function
def _gradient(
    margin: Any,
    tables: Any,
    of_relation: Any,
    elements: Any,
    element: Any,
    source: Any,
    epoch: Any,
    scratch: Any,
) -> Any:
    """Sum up the gradients of an element's triples.

    Returns the loss, and what the sums are to be multiplied with: a logistic loss is a mean.
    """
    # Few arrays go down from here: a tuple of many takes longer to pass on than a score.
    begin, end = elements.bounds[element], elements.bounds[element + 1]
    row, total, scores = elements.rows[element], 0.0, 0
    sums, own, work = scratch.sums, scratch.parts[0].gradient, scratch.work
    one = np.float32(1)
    for position in range(begin, end):
        at = elements.order[position]
        h, r, t = elements.triples[at, 0], elements.triples[at, 1], elements.triples[at, 2]
        key = mix_number(elements.keys[element] ^ np.uint64(at - begin))
        drawn = 0
        for number in range(len(scratch.heads)):
            drawing = mix_number(key ^ ((np.uint64(epoch) << np.uint64(32)) + np.uint64(number)))
            on_tail = drawing & np.uint64(1) == 1 if of_relation else h == row
            chosen = draw(source, h, r, t, on_tail, drawing)
            if chosen < 0:
                chosen = search(source, h, r, t, on_tail, drawing, scratch.asked, scratch.free)
            if chosen < 0 and of_relation:
                on_tail = not on_tail
                chosen = search(source, h, r, t, on_tail, drawing, scratch.asked, scratch.free)
            if chosen >= 0:
                scratch.heads[drawn] = h if on_tail else chosen
                scratch.tails[drawn] = chosen if on_tail else t
                drawn += 1
        if drawn == 0 and not LOGISTIC:
            continue
        true = Triple(h, r, t)
        right, wrong = score(tables, true, work), 0.0
        if LOGISTIC:
            value, slope = softplus(-right)
            add_own(tables, true, -slope, of_relation, row, sums, own, work)
            total += value
            for number in range(drawn):
                false = Triple(scratch.heads[number], r, scratch.tails[number])
                value, slope = softplus(score(tables, false, work))
                add_own(tables, false, slope, of_relation, row, sums, own, work)
                total += value
            scores += 1 + drawn
            continue
        for number in range(drawn):
            false = Triple(scratch.heads[number], r, scratch.tails[number])
            wrong += score(tables, false, work)
        hinge = margin - right + wrong / drawn
        if hinge <= 0:
            continue
        total += hinge
        add_own(tables, true, -one, of_relation, row, sums, own, work)
        for number in range(drawn):
            false = Triple(scratch.heads[number], r, scratch.tails[number])
            add_own(tables, false, one / np.float32(drawn), of_relation, row, sums, own, work)
    if LOGISTIC:
        return np.float32(total / scores), np.float32(1.0 / scores)
    return np.float32(total), one
