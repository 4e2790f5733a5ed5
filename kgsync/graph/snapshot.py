"""The edges of one version as sorted integer columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import KgsyncError
from kgsync.graph.terms import Ids

__all__ = ["KeyLayout", "Keys", "Snapshot"]

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class KeyLayout:
    """How a triple of ids is packed into one 64-bit key, so that sets are sorted arrays.

    Keys sort as (head, relation, tail) does. Both sides of a comparison use the same layout.
    """

    entity_bits: int
    relation_bits: int

    @classmethod
    def for_sizes(cls, entities: int, relations: int) -> KeyLayout:
        """The narrowest layout for that many ids."""
        layout = cls(max(1, (entities - 1).bit_length()), max(1, (relations - 1).bit_length()))
        if 2 * layout.entity_bits + layout.relation_bits > 64:
            raise KgsyncError(
                f"{entities:,} entities with {relations:,} relations do not fit a 64-bit triple key"
                "; narrow the graph with a scope or a filter"
            )
        return layout

    def pack(self, heads: Ids, relations: Ids, tails: Ids) -> Keys:
        """Keys of triples."""
        keys = heads.astype(np.uint64)
        for bits, ids in ((self.relation_bits, relations), (self.entity_bits, tails)):
            keys <<= np.uint64(bits)
            np.bitwise_or(keys, ids, out=keys, dtype=np.uint64, casting="unsafe")
        return keys

    def unpack(self, keys: Keys) -> tuple[Ids, Ids, Ids]:
        """Triples of keys."""
        entity = np.uint64((1 << self.entity_bits) - 1)
        relation = np.uint64((1 << self.relation_bits) - 1)
        tails = (keys & entity).astype(np.int32)
        relations = (keys >> np.uint64(self.entity_bits) & relation).astype(np.int32)
        heads = (keys >> np.uint64(self.entity_bits + self.relation_bits)).astype(np.int32)
        return heads, relations, tails


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A set of edges: three id columns, sorted by (head, relation, tail), without doubles."""

    heads: Ids
    relations: Ids
    tails: Ids

    @classmethod
    def of(cls, heads: Ids, relations: Ids, tails: Ids) -> Snapshot:
        """The snapshot of edges in any order, doubles merged."""
        layout = cls(heads, relations, tails).layout
        return cls.of_keys(layout, layout.pack(heads, relations, tails))

    @classmethod
    def of_keys(cls, layout: KeyLayout, keys: Keys) -> Snapshot:
        """The snapshot of keys in any order, doubles merged; the keys are used up."""
        keys.sort()  # np.unique hashes first, which takes many times as long
        doubles = np.flatnonzero(keys[1:] == keys[:-1])
        return cls(*layout.unpack(np.delete(keys, doubles) if len(doubles) else keys))

    @classmethod
    def empty(cls) -> Snapshot:
        """No edges."""
        none = np.empty(0, np.int32)
        return cls(none, none, none)

    def __len__(self) -> int:
        return len(self.heads)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and all(
            np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    @property
    def columns(self) -> tuple[Ids, Ids, Ids]:
        """Heads, relations, tails."""
        return self.heads, self.relations, self.tails

    @cached_property
    def entities(self) -> Ids:
        """Ids of the entities that occur, sorted."""
        return _occurring(self.heads, self.tails)

    @cached_property
    def relation_ids(self) -> Ids:
        """Ids of the relations that occur, sorted."""
        return _occurring(self.relations)

    @cached_property
    def layout(self) -> KeyLayout:
        """The narrowest key layout that holds these edges."""
        if not len(self.heads):
            return KeyLayout(1, 1)
        entities = max(int(self.heads.max()), int(self.tails.max())) + 1
        return KeyLayout.for_sizes(entities, int(self.relations.max()) + 1)

    def keys(self, layout: KeyLayout) -> Keys:
        """Sorted keys under a layout wide enough for these edges."""
        return layout.pack(*self.columns)

    def where(self, mask: NDArray[np.bool_]) -> Snapshot:
        """The edges a mask selects."""
        return Snapshot(self.heads[mask], self.relations[mask], self.tails[mask])

    def minus(self, other: Snapshot) -> Snapshot:
        """The edges that the other snapshot lacks."""
        layout = common_layout(self, other)
        missing = ~contains(other.keys(layout), self.keys(layout))
        return self.where(missing)

    def plus(self, other: Snapshot) -> Snapshot:
        """The edges of either snapshot."""
        columns = zip(self.columns, other.columns, strict=True)
        return Snapshot.of(*(np.concatenate(pair) for pair in columns))


def _occurring(*columns: Ids) -> Ids:
    """The ids that occur, sorted."""
    occurs = np.zeros(max(int(column.max(initial=-1)) for column in columns) + 1, bool)
    for column in columns:
        occurs[column] = True
    return np.flatnonzero(occurs).astype(np.int32)


def common_layout(*snapshots: Snapshot) -> KeyLayout:
    """A layout wide enough for all of these snapshots."""
    layouts = [snapshot.layout for snapshot in snapshots]
    entity_bits = max(layout.entity_bits for layout in layouts)
    relation_bits = max(layout.relation_bits for layout in layouts)
    return KeyLayout.for_sizes(1 << entity_bits, 1 << relation_bits)


def contains(sorted_keys: Keys, keys: Keys) -> NDArray[np.bool_]:
    """For each key, whether it is among the sorted ones."""
    if not len(sorted_keys):
        return np.zeros(len(keys), bool)
    positions = np.searchsorted(sorted_keys, keys)
    positions[positions == len(sorted_keys)] = 0
    found: NDArray[np.bool_] = sorted_keys[positions] == keys
    return found
