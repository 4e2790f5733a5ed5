"""The kernels of pretraining: new elements, one by one, while all other rows are frozen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.kernels import FAST
from kgsync.common.kernels import kernel as marked
from kgsync.graph.hashing import Hashes
from kgsync.models.parts.kernels import Triple
from kgsync.models.parts.loops import copy, function
from kgsync.models.parts.loss_kernels import Element, Negatives, add_evidence, of_element
from kgsync.models.parts.optimizer_kernels import move_own
from kgsync.training.cpu.keyed_negatives import draw, search
from kgsync.training.cpu.layout import Matrix, Tables
from kgsync.training.cpu.randomness import mix_number
from kgsync.training.torch_backend.pretraining import DECAY, FALL, WAIT

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
    state: NDArray[np.float32]
    """What the optimiser keeps of it."""


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
        part.state[:] = 0
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
            move_own(part.table[row], part.gradient, part.state, share, rate)
    for part in scratch.parts:
        copy(part.table[row], part.best)
    return ran, moved


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

    Returns the loss, and what the sums are to be multiplied with.
    """
    # Few arrays go down from here: a tuple of many takes longer to pass on than a score.
    begin, end = elements.bounds[element], elements.bounds[element + 1]
    row, total, scores = elements.rows[element], 0.0, 0
    sums, own, work = scratch.sums, scratch.parts[0].gradient, scratch.work
    owner, negatives = Element(of_relation, row), Negatives(scratch.heads, scratch.tails)
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
        true = Triple(h, r, t)
        total, scores = add_evidence(
            margin, tables, true, negatives, drawn, owner, sums, own, work, total, scores
        )
    return of_element(total, scores)
