"""Gradient sums of the rows that a batch touches, and the steps they make."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.kernels import Slot
from kgsync.models.parts.loops import function
from kgsync.models.parts.optimizer_kernels import move
from kgsync.training.cpu.layout import Matrix, Tables, inlined, kernel
from kgsync.training.cpu.memory import fetch

__all__ = [
    "Places",
    "Scratch",
    "fetch_ahead",
    "forget",
    "move_all",
    "place",
    "scratch_for",
]

_AHEAD = 8
_HAS_STATE: Any = Slot("HAS_STATE")
"""Whether the optimiser keeps anything."""


class Places(NamedTuple):
    """Which entities, or relations, have sums, and where."""

    rows: NDArray[np.int32]
    """The row that each sum belongs to."""
    uses: NDArray[np.int32]
    """How often it occurs in the batch."""
    places: NDArray[np.int32]
    """For each row the place of its sum, or -1."""
    used: NDArray[np.int64]
    """One number: how many places are used."""


class Scratch(NamedTuple):
    """Memory of one thread."""

    sums: Tables
    """All zeros between batches."""
    entities: Places
    relations: Places
    true: NDArray[np.int32]
    """Positives of a batch."""
    false: NDArray[np.int32]
    """Negatives; head -1 where there is none."""
    work: Matrix


def scratch_for(tables: Tables, pairs: int) -> Scratch:
    """Memory for batches of so many pairs."""
    entities, relations = len(tables.entity), len(tables.relation)
    counts = (min(entities, 4 * pairs), min(relations, 2 * pairs)) * 2
    widths = [table.shape[1] for table in tables]
    shapes = zip(counts, widths, strict=True)
    return Scratch(
        Tables(*(np.zeros((count if width else 0, width), np.float32) for count, width in shapes)),
        _no_places(entities, counts[0]),
        _no_places(relations, counts[1]),
        np.empty((pairs, 3), np.int32),
        np.empty((pairs, 3), np.int32),
        np.empty((4, max(widths)), np.float32),
    )


def _no_places(rows: int, most: int) -> Places:
    taken, uses = np.empty(most, np.int32), np.empty(most, np.int32)
    return Places(taken, uses, np.full(rows, -1, np.int32), np.zeros(1, np.int64))


@inlined
def place(places: Any, row: Any, uses: Any) -> Any:
    """The place of a row, which is used so many times more."""
    at = np.int64(places.places[row])
    if at < 0:
        at = places.used[0]
        places.used[0] += 1
        places.places[row] = at
        places.rows[at] = row
        places.uses[at] = 0
    places.uses[at] += uses
    return at


@kernel
def forget(places: Any, moving: Any) -> Any:
    """Give up all places; returns how many rows of them have moved."""
    moved = 0
    for at in range(places.used[0]):
        row = places.rows[at]
        places.places[row] = -1
        moved += moving[row] and places.uses[at] > 0
    places.used[0] = 0
    return moved


@function
def move_all(
    places: Any,
    moving: Any,
    table: Any,
    states: Any,
    sums: Any,
    rate: Any,
    penalty: Any,
) -> Any:
    """Move rows against their gradients and clear these; returns the loss by the L2 penalty.

    Args:
        places: Which rows have gradients, and where.
        moving: Whether a row may move.
        table: The rows.
        states: What the optimiser keeps of them.
        sums: The gradients.
        rate: Learning rate.
        penalty: Weight of the mean square of a row each time it is used.
    """
    loss, width = 0.0, table.shape[1]
    if width == 0:
        return loss
    used = places.used[0]
    for at in range(used):
        row = places.rows[at]
        if at + _AHEAD < used:
            fetch(table, places.rows[at + _AHEAD], to_write=True)
            if _HAS_STATE:
                fetch(states, places.rows[at + _AHEAD], to_write=True)
        step = rate if moving[row] else np.float32(0)
        weight = np.float32(penalty * places.uses[at] / width)
        loss += weight * move(table[row], states[row], sums[at], step, weight)
        sums[at] = 0
    return loss


@inlined
def fetch_ahead(tables: Any, true: Any, false: Any, at: Any) -> None:
    """Ask for the rows of the pair some places on."""
    at += _AHEAD
    if at < len(true) and false[at, 0] >= 0:
        fetch(tables.relation, true[at, 1])
        for entity in (true[at, 0], true[at, 2], false[at, 0], false[at, 2]):
            fetch(tables.entity, entity)
            fetch(tables.entity2, entity)
