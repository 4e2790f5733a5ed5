"""The active elements of a version and their rows. Ids are permanent; rows are per version."""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.snapshot import KeyLayout, Keys, Snapshot, contains
from kgsync.graph.terms import Ids

__all__ = ["Active", "TripleRows", "TripleSet", "are_among", "rows_of", "shared_rows"]

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
_shared: deque[tuple[weakref.ref[Ids], weakref.ref[Ids], Pairs]] = deque(maxlen=2)
"""What `shared_rows` found last: of the entities and of the relations."""

TripleRows = NDArray[np.int64]
"""Shape (3, n): head row, relation row, tail row."""


@dataclass(frozen=True)
class Active:
    """Ids of the entities and relations of one version, sorted; the position is the row."""

    entities: Ids
    relations: Ids

    @classmethod
    def of(cls, edges: Snapshot) -> Active:
        """The elements that occur in the edges."""
        return cls(edges.entities, edges.relation_ids)

    def rows(self, edges: Snapshot) -> TripleRows:
        """Edges as rows; every element of the edges must be active."""
        entity, relation = self.entity_rows, self.relation_rows
        return np.stack([entity[edges.heads], relation[edges.relations], entity[edges.tails]])

    @cached_property
    def entity_rows(self) -> NDArray[np.int64]:
        """For each entity id its row: a lookup table, far faster than searching."""
        return _positions(self.entities)

    @cached_property
    def relation_rows(self) -> NDArray[np.int64]:
        """For each relation id its row."""
        return _positions(self.relations)

    def all_active(self, edges: Snapshot) -> NDArray[np.bool_]:
        """For each edge, whether its three elements are active."""
        return (
            are_among(edges.heads, self.entities)
            & are_among(edges.relations, self.relations)
            & are_among(edges.tails, self.entities)
        )


class TripleSet:
    """A set of triples given as rows, to look others up in."""

    def __init__(self, triples: TripleRows, entities: int, relations: int) -> None:
        """Index triples over so many entity and relation rows."""
        self._layout = KeyLayout.for_sizes(entities, relations)
        self._keys: Keys = np.sort(self._pack(triples))

    def contains(self, triples: TripleRows) -> NDArray[np.bool_]:
        """For each triple, whether it is in the set."""
        return contains(self._keys, self._pack(triples))

    def _pack(self, triples: TripleRows) -> Keys:
        heads, relations, tails = triples.astype(np.int32)
        return self._layout.pack(heads, relations, tails)


def are_among(ids: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """For each id, whether it is among other, sorted ones; best where there are few to find."""
    return contains(others, ids)


def shared_rows(old: Ids, new: Ids) -> Pairs:
    """Rows of the shared ids in the old and in the new numbering; both are sorted.

    A step asks for those of the same two versions again and again, so the last ones are remembered
    as long as the ids are there. Nobody changes ids, or these rows.
    """
    for known_old, known_new, rows in tuple(_shared):
        if known_old() is old and known_new() is new:
            return rows
    found = _shared_rows(old, new)
    _shared.append((weakref.ref(old), weakref.ref(new), found))
    return found


def _shared_rows(old: Ids, new: Ids) -> Pairs:
    if np.array_equal(old, new):
        return np.arange(len(old)), np.arange(len(new))
    size = int(max(old.max(initial=-1), new.max(initial=-1))) + 1
    there, here = np.zeros(size, bool), np.zeros(size, bool)
    there[old], here[new] = True, True
    return np.flatnonzero(here[old]), np.flatnonzero(there[new])


def rows_of(table: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Some rows, ascending; those that follow each other are not copied."""
    first, last = int(rows[0]), int(rows[-1])
    return table[first : last + 1] if last - first == len(rows) - 1 else table[rows]


def _positions(ids: Ids) -> NDArray[np.int64]:
    """The position of each id."""
    positions = np.zeros(int(ids[-1]) + 1 if len(ids) else 0, np.int64)
    positions[ids] = np.arange(len(ids))
    return positions
