"""The living elements of a version and their rows. Ids are for ever; rows are for one version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import Ids

__all__ = ["Living", "TripleRows"]

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
        """Edges as rows; every element of the edges must live."""
        entity, relation = _positions(self.entities), _positions(self.relations)
        return np.stack([entity[edges.heads], relation[edges.relations], entity[edges.tails]])

    def all_alive(self, edges: Snapshot) -> NDArray[np.bool_]:
        """For each edge, whether its three elements live."""
        return (
            np.isin(edges.heads, self.entities)
            & np.isin(edges.relations, self.relations)
            & np.isin(edges.tails, self.entities)
        )


def _positions(ids: Ids) -> NDArray[np.int64]:
    """For each id up to the largest its position among the ids: far faster than searching."""
    positions = np.zeros(int(ids[-1]) + 1 if len(ids) else 0, np.int64)
    positions[ids] = np.arange(len(ids))
    return positions
