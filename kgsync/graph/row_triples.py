"""The edges of one part of a version as rows, a few at a time: all of them are never copied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import Active, TripleRows
from kgsync.graph.snapshot import KeyLayout, Keys, Snapshot, contains, occurrences

__all__ = ["Columns", "RowTriples"]

Columns = NDArray[np.int64]
"""Numbers of edges, in the order of their snapshot."""
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowTriples:
    """Some edges of a version, whose rows are found when they are asked for."""

    edges: Snapshot
    active: Active
    """All elements of the version."""

    def __len__(self) -> int:
        return len(self.edges)

    def take(self, columns: Columns) -> TripleRows:
        """Some of the triples."""
        edges, active = self.edges, self.active
        entity, relation = active.entity_rows, active.relation_rows
        heads, relations, tails = (column[columns] for column in edges.columns)
        return np.stack([entity[heads], relation[relations], entity[tails]])

    @cached_property
    def degree(self) -> Counts:
        """For each entity row, in how many triples it is; a self-loop counts twice."""
        return _counts(self.edges.uses.entities, self.active.entities)

    @cached_property
    def uses(self) -> Counts:
        """For each relation row, in how many triples it is."""
        return _counts(self.edges.uses.relations, self.active.relations)

    def with_ends(self, rows: Columns, side: int) -> Columns:
        """The triples with one of some entities as the head (side 0), or as the tail (side 2)."""
        ids = self.active.entities[np.sort(rows)]
        return self.edges.with_heads(ids) if side == 0 else self.edges.with_tails(ids)

    def with_relations(self, rows: Columns) -> Columns:
        """The triples with one of some relations."""
        return occurrences(self.edges.relations, self.active.relations[rows])

    def around(self, entities: Columns, relations: Columns) -> Columns:
        """The triples with one of some entities or relations, each once."""
        parts = [self.with_ends(entities, 0), self.with_ends(entities, 2)]
        return np.unique(np.concatenate([*parts, self.with_relations(relations)]))

    def columns(self, triples: TripleRows) -> Columns:
        """Where triples are that are among these."""
        return np.searchsorted(self._keys, self._packed(triples))

    def contains(self, triples: TripleRows) -> Mask:
        """For each triple, whether it is among these."""
        return contains(self._keys, self._packed(triples))

    @cached_property
    def _layout(self) -> KeyLayout:
        ids = (self.active.entities, self.active.relations)
        return KeyLayout.for_sizes(*(int(each.max(initial=-1)) + 1 for each in ids))

    @cached_property
    def _keys(self) -> Keys:
        return self.edges.keys(self._layout)

    def _packed(self, triples: TripleRows) -> Keys:
        heads, relations, tails = triples
        entity, relation = self.active.entities, self.active.relations
        return self._layout.pack(entity[heads], relation[relations], entity[tails])


def _counts(by_id: Counts, ids: NDArray[np.int32]) -> Counts:
    """The counts of some ids; those beyond the end have none."""
    counts = np.zeros(len(ids), np.int64)
    known = int(np.searchsorted(ids, len(by_id)))
    counts[:known] = by_id[ids[:known]]
    return counts
