"""The active elements of a version and their rows. Ids are permanent; rows are per version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.snapshot import KeyLayout, Keys, Snapshot, contains
from kgsync.graph.terms import Ids

__all__ = ["Living", "TripleRows", "TripleSet"]

TripleRows = NDArray[np.int64]
"""Shape (3, n): head row, relation row, tail row."""


@dataclass(frozen=True)
class Living:
    """Ids of the entities and relations of one version, sorted; the position is the row."""

    entities: Ids
    relations: Ids

    @classmethod
    def of(cls, edges: Snapshot) -> Living:
        """The elements that occur in the edges."""
        return cls(edges.entities, edges.relation_ids)

    def rows(self, edges: Snapshot) -> TripleRows:
        """Edges as rows; every element of the edges must be active."""
        entity, relation = _positions(self.entities), _positions(self.relations)
        return np.stack([entity[edges.heads], relation[edges.relations], entity[edges.tails]])

    def all_alive(self, edges: Snapshot) -> NDArray[np.bool_]:
        """For each edge, whether its three elements are active."""
        return (
            np.isin(edges.heads, self.entities)
            & np.isin(edges.relations, self.relations)
            & np.isin(edges.tails, self.entities)
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


def _positions(ids: Ids) -> NDArray[np.int64]:
    """The position of each id, as a lookup table: far faster than searching."""
    positions = np.zeros(int(ids[-1]) + 1 if len(ids) else 0, np.int64)
    positions[ids] = np.arange(len(ids))
    return positions
