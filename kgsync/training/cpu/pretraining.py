"""Pre-training of start vectors on the CPU; the same face as the torch pre-trainer's.

Elements are trained one by one, each in its own row of the model's tables, while all other rows
stand still. So threads that take different elements do not meet, and nothing is gathered.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.compiled import FAST, compiled
from kgsync.common.cost import Cost
from kgsync.graph.hashing import Hashes
from kgsync.models.base import Model
from kgsync.training.cpu.drawing import hash_set
from kgsync.training.cpu.keyed import Source, draw, search
from kgsync.training.cpu.layout import (
    DISTMULT,
    L1,
    TRANSE,
    Matrix,
    Tables,
    Triple,
    choices_of,
    kernel,
    tables_of,
)
from kgsync.training.cpu.randomness import mix_number
from kgsync.training.cpu.scores import add_gradient, score
from kgsync.training.cpu.vectors import add_product, softplus
from kgsync.training.evidence import Evidence, KeyedNegatives
from kgsync.training.optimizers import EPSILON
from kgsync.training.pretraining import DECAY, FALL, WAIT, PretrainingRates
from kgsync.training.threads import on_threads

__all__ = ["CpuPretrainer"]

_OWN, _OTHER = 0, 1
"""Rows of the gradient sums: that of the element, and one for all that does not move."""


class CpuPretrainer:
    """Trains the vectors of new elements of one model, in place; all other rows stay."""

    def __init__(
        self,
        model: Model,
        negatives: KeyedNegatives,
        rates: PretrainingRates,
        cost: Cost,
        threads: int = 1,
    ) -> None:
        """Prepare for training.

        Args:
            model: The model.
            negatives: Whose draws of false triples are repeated here.
            rates: How long and how fast.
            cost: Counters to increase.
            threads: Threads that take elements in turn; the vectors do not depend on their number.
        """
        sizes = model.sizes
        known = hash_set(negatives.train, sizes["entity"], sizes["relation"])
        self._source = Source(known, negatives.survivors)
        self._choices, self._tables = choices_of(model), tables_of(model)
        self._negatives, self._rates, self._cost = negatives, rates, cost
        self._threads = threads

    def train(self, evidence: Evidence) -> None:
        """Train elements none of which needs another; those they need were trained before.

        Args:
            evidence: The elements and their informative triples.
        """
        bounds = evidence.bounds
        elements = _Elements(
            evidence.rows,
            self._negatives.keys(evidence.kind, evidence.rows),
            bounds,
            np.ascontiguousarray(evidence.triples.T),
            # Triples of one relation together: they share the search for a false one.
            np.lexsort((evidence.triples[1], evidence.owner)),
            np.argsort(-np.diff(bounds), kind="stable"),
        )
        threads = max(1, min(self._threads, len(evidence.rows)))

        def run(number: int) -> Any:
            return _train_elements(
                self._choices,
                self._tables,
                evidence.kind == "relation",
                elements,
                self._source,
                self._rates.epochs,
                np.float32(self._rates.learning_rate),
                self._scratch(evidence),
                number,
                threads,
            )

        for scored, steps in on_threads(run, threads):
            self._cost.score_evaluations += scored
            self._cost.gradient_steps += steps

    def _scratch(self, evidence: Evidence) -> _Scratch:
        tables, count = self._tables, len(self._source.survivors)
        sums = Tables(*(np.zeros((2, table.shape[1]), np.float32) for table in tables))
        if evidence.kind == "entity":
            own = (tables.entity, sums.entity), (tables.entity2, sums.entity2)
        else:
            own = (tables.relation, sums.relation), (tables.relation2, sums.relation2)
        rows = len(own[0][0])
        parts = [
            _Part(
                table if table.size else np.empty((rows, 0), np.float32),
                gradient[_OWN],
                np.empty_like(gradient[_OWN]),
                np.empty_like(gradient[_OWN]),
            )
            for table, gradient in own
        ]
        widest = max(table.shape[1] for table in tables)
        return _Scratch(
            sums,
            (parts[0], parts[1]),
            np.empty(self._rates.negatives, np.int64),
            np.empty(self._rates.negatives, np.int64),
            np.full((2, 3), -1),
            np.empty((2, count), np.int64),
            np.empty((4, widest), np.float32),
        )


class _Elements(NamedTuple):
    """The new elements."""

    rows: NDArray[np.int64]
    keys: Hashes
    bounds: NDArray[np.int64]
    """Where the triples of each element begin."""
    triples: NDArray[np.int64]
    """One a row."""
    order: NDArray[np.int64]
    """In which triples are taken; those of an element stay between its bounds."""
    turns: NDArray[np.int64]
    """In which elements are taken: the largest first, so that threads end together."""


class _Part(NamedTuple):
    """One of an element's vectors in training; of no numbers if the model has only one."""

    table: Matrix
    gradient: NDArray[np.float32]
    best: NDArray[np.float32]
    squares: NDArray[np.float32]
    """Adagrad's sums."""


class _Scratch(NamedTuple):
    """Memory of one thread."""

    sums: Tables
    parts: tuple[_Part, _Part]
    heads: NDArray[np.int64]
    """Of the false triples drawn for a true one."""
    tails: NDArray[np.int64]
    asked: NDArray[np.int64]
    """For heads and tails the last query looked through: relation, other entity, how many free."""
    free: NDArray[np.int64]
    """For each the survivors that make it a false triple."""
    work: Matrix


@compiled(FAST, nogil=True)
def _train_elements(
    choices: Any,
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
            choices, tables, of_relation, elements, element, source, epochs, rate, scratch
        )
        scored += ran * triples * (1 + len(scratch.heads))
        steps += moved
    return scored, steps


@kernel
def _train_one(
    choices: Any,
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
        part.best[:] = part.table[row]
        part.squares[:] = 0
    best, reference, waited = np.float32(np.inf), np.float32(np.inf), 0
    ran, moved = 0, 0
    for epoch in range(epochs):
        for part in scratch.parts:
            part.gradient[:] = 0
        loss, share = _gradient(
            choices, tables, of_relation, elements, element, source, epoch, scratch
        )
        ran += 1
        if loss < best:
            best = loss
            for part in scratch.parts:
                part.best[:] = part.table[row]
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
            _move(choices.adagrad, part.table[row], part.gradient, part.squares, share, rate)
    for part in scratch.parts:
        part.table[row] = part.best
    return ran, moved


@kernel
def _move(adagrad: Any, vector: Any, gradient: Any, squares: Any, share: Any, rate: Any) -> None:
    if not adagrad:
        factor = rate * share
        for i in range(len(vector)):
            vector[i] -= factor * gradient[i]
        return
    for i in range(len(vector)):
        slope = share * gradient[i]
        squares[i] += slope * slope
        vector[i] -= rate * slope / (np.float32(sqrt(squares[i])) + np.float32(EPSILON))


@kernel
def _gradient(
    choices: Any,
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
        if drawn == 0 and not choices.logistic:
            continue
        true = Triple(h, r, t)
        right, wrong = score(choices, tables, true, work), 0.0
        if choices.logistic:
            value, slope = softplus(-right)
            _add(choices, tables, true, -slope, of_relation, row, sums, own, work)
            total += value
            for number in range(drawn):
                false = Triple(scratch.heads[number], r, scratch.tails[number])
                value, slope = softplus(score(choices, tables, false, work))
                _add(choices, tables, false, slope, of_relation, row, sums, own, work)
                total += value
            scores += 1 + drawn
            continue
        for number in range(drawn):
            false = Triple(scratch.heads[number], r, scratch.tails[number])
            wrong += score(choices, tables, false, work)
        hinge = choices.margin - right + wrong / drawn
        if hinge <= 0:
            continue
        total += hinge
        _add(choices, tables, true, -one, of_relation, row, sums, own, work)
        for number in range(drawn):
            false = Triple(scratch.heads[number], r, scratch.tails[number])
            _add(choices, tables, false, one / np.float32(drawn), of_relation, row, sums, own, work)
    if choices.logistic:
        return np.float32(total / scores), np.float32(1.0 / scores)
    return np.float32(total), one


@kernel
def _add(
    choices: Any,
    tables: Any,
    triple: Any,
    weight: Any,
    of_relation: Any,
    row: Any,
    sums: Any,
    own: Any,
    work: Any,
) -> None:
    """Add weight · ∂f/∂θ of the element's own vectors θ."""
    on_head, on_tail = triple.head == row, triple.tail == row
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r = tables.relation[triple.relation]
    if choices.code == TRANSE and choices.norm == L1:
        sign = 1 if of_relation else np.int64(on_head) - np.int64(on_tail)
        _add_l1(h, r, t, np.float32(sign * weight), own)
    elif choices.code == DISTMULT and of_relation:
        add_product(own, weight, h, t)
    elif choices.code == DISTMULT:
        if on_head:
            add_product(own, weight, r, t)
        if on_tail:
            add_product(own, weight, h, r)
    elif of_relation:
        at = Triple(_OTHER, _OWN, _OTHER)
        add_gradient(choices, tables, triple, weight, sums, at, work)
    else:
        at = Triple(_OWN if on_head else _OTHER, _OTHER, _OWN if on_tail else _OTHER)
        add_gradient(choices, tables, triple, weight, sums, at, work)


@kernel
def _add_l1(h: Any, r: Any, t: Any, weight: Any, to: Any) -> None:
    """Add weight · ∂f/∂h of TransE: `add_gradient` takes four times as long for all three."""
    zero = np.float32(0)
    for i in range(len(to)):
        gap = h[i] + r[i] - t[i]
        to[i] += -weight if gap > 0 else (weight if gap < 0 else zero)
