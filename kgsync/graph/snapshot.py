"""The edges of one version as sorted integer columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import KgsyncError
from kgsync.graph.terms import Ids

__all__ = [
    "KeyLayout",
    "Keys",
    "Snapshot",
    "Uses",
    "common_layout",
    "contains",
    "occurrences",
    "places",
]

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]

_FEW = 1000
"""How many times as many edges a snapshot has as another whose edges are looked up one by one."""


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
class Uses:
    """How many edges of a snapshot have each id; a self-loop counts twice for its entity."""

    entities: NDArray[np.int64]
    relations: NDArray[np.int64]

    @classmethod
    def of(cls, edges: Snapshot) -> Uses:
        """Count all edges."""
        size = max(int(column.max(initial=-1)) for column in (edges.heads, edges.tails)) + 1
        entities = np.bincount(edges.heads, minlength=size)
        entities += np.bincount(edges.tails, minlength=size)
        return cls(entities, np.bincount(edges.relations))

    def changed(self, deleted: Snapshot, added: Snapshot) -> Uses:
        """The counts after a change; ids that no edge has any more stay, with 0."""
        sizes = (len(self.entities), len(self.relations))
        grown = (len(added.uses.entities), len(added.uses.relations))
        entities, relations = (
            np.concatenate([counts, np.zeros(max(0, size - known), np.int64)])
            for counts, known, size in zip(
                (self.entities, self.relations), sizes, grown, strict=True
            )
        )
        for uses, sign in ((added.uses, 1), (deleted.uses, -1)):
            entities[: len(uses.entities)] += sign * uses.entities
            relations[: len(uses.relations)] += sign * uses.relations
        return Uses(entities, relations)


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
    def uses(self) -> Uses:
        """How many edges have each id."""
        return Uses.of(self)

    @cached_property
    def entities(self) -> Ids:
        """Ids of the entities that occur, sorted."""
        return np.flatnonzero(self.uses.entities).astype(np.int32)

    @cached_property
    def relation_ids(self) -> Ids:
        """Ids of the relations that occur, sorted."""
        return np.flatnonzero(self.uses.relations).astype(np.int32)

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

    def with_heads(self, ids: Ids) -> Places:
        """Where the edges are that have one of some entities, ascending, as the head."""
        first = np.searchsorted(self.heads, ids, "left")
        return _ranges(first, np.searchsorted(self.heads, ids, "right"))

    def with_tails(self, ids: Ids) -> Places:
        """Where the edges are that have one of some entities as the tail."""
        return occurrences(self.tails, ids)

    def minus(self, other: Snapshot) -> Snapshot:
        """The edges that the other snapshot lacks."""
        if _are_few(other, self):
            return self.changed(other.within(self), Snapshot.empty()) if len(other) else self
        return self.where(~self._are_in(other))

    def within(self, other: Snapshot) -> Snapshot:
        """The edges that the other snapshot has, too."""
        return self.where(self._are_in(other))

    def plus(self, other: Snapshot) -> Snapshot:
        """The edges of either snapshot."""
        if _are_few(other, self):
            return self.changed(Snapshot.empty(), other.minus(self)) if len(other) else self
        columns = zip(self.columns, other.columns, strict=True)
        return Snapshot.of(*(np.concatenate(pair) for pair in columns))

    def changed(self, deleted: Snapshot, added: Snapshot) -> Snapshot:
        """The edges after a change; after a small one, each array is copied once.

        Args:
            deleted: Edges of this snapshot.
            added: Edges that it lacks.
        """
        columns = zip(self.columns, added.columns, strict=True)
        if (len(deleted) + len(added)) * _FEW <= len(self):
            gone, come = self._places(deleted)[0], self._places(added)[0]
            new = Snapshot(*(_spliced(column, gone, come, values) for column, values in columns))
        else:
            left = ~self._are_in(deleted)
            new = Snapshot.of(*(np.concatenate([old[left], values]) for old, values in columns))
        if "uses" in vars(self):  # what was counted already is not counted again
            vars(new)["uses"] = self.uses.changed(deleted, added)
        return new

    def _are_in(self, other: Snapshot) -> NDArray[np.bool_]:
        """For each edge, whether the other snapshot has it."""
        if _are_few(self, other):
            return other._places(self)[1]
        layout = common_layout(self, other)
        return contains(other.keys(layout), self.keys(layout))

    def _places(self, few: Snapshot) -> tuple[Places, NDArray[np.bool_]]:
        """For each of some edges the place that it has, or would have, and whether it is there.

        Each is searched for by itself: no keys of all edges are made.
        """
        firsts = np.searchsorted(self.heads, few.heads, "left").astype(np.int64)
        lasts = np.searchsorted(self.heads, few.heads, "right")
        found = np.zeros(len(few), bool)
        for at in range(len(few)):
            first, last = int(firsts[at]), int(lasts[at])
            for column, wanted in ((self.relations, few.relations), (self.tails, few.tails)):
                inside, value = column[first:last], wanted[at]
                last = first + int(np.searchsorted(inside, value, "right"))
                first += int(np.searchsorted(inside, value, "left"))
            firsts[at], found[at] = first, last > first
        return firsts, found


def _are_few(few: Snapshot, many: Snapshot) -> bool:
    return len(few) * _FEW <= len(many)


def _spliced(column: Ids, gone: Places, come: Places, values: Ids) -> Ids:
    """A column without what is at some places, and with values before what is at others."""
    cuts = [(int(place), -1) for place in gone]
    cuts += [(int(place), number) for number, place in enumerate(come)]
    # Where one goes and others come, those come first, in their order.
    cuts.sort(key=lambda cut: (cut[0], cut[1] < 0, cut[1]))
    pieces, start = [], 0
    for place, number in cuts:
        pieces.append(column[start:place])
        start = place
        if number < 0:
            start += 1
        else:
            pieces.append(values[number : number + 1])
    return np.concatenate([*pieces, column[start:]])


def occurrences(column: NDArray[Any], ids: NDArray[Any]) -> Places:
    """Where some ids are in a column, which is read once."""
    if not len(ids) or not len(column):
        return np.empty(0, np.int64)
    if len(ids) == 1:
        return np.flatnonzero(column == ids[0])
    wanted = np.zeros(max(int(column.max()), int(ids.max())) + 1, bool)
    wanted[ids] = True
    return np.flatnonzero(wanted[column])


def _ranges(first: Places, last: Places) -> Places:
    """The numbers of several ranges, one after the other."""
    sizes = last - first
    starts = np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    return starts + np.arange(int(sizes.sum()))


def common_layout(*snapshots: Snapshot) -> KeyLayout:
    """A layout wide enough for all of these snapshots."""
    layouts = [snapshot.layout for snapshot in snapshots]
    entity_bits = max(layout.entity_bits for layout in layouts)
    relation_bits = max(layout.relation_bits for layout in layouts)
    return KeyLayout.for_sizes(1 << entity_bits, 1 << relation_bits)


def places(among: NDArray[Any], wanted: NDArray[Any]) -> Places:
    """For each number its place among sorted ones; -1 where it is missing."""
    at: Places = np.searchsorted(among, wanted)
    at[~_found(among, wanted, at)] = -1
    return at


def contains(among: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.bool_]:
    """For each number, whether it is among sorted ones; best where there are few to find."""
    return _found(among, wanted, np.searchsorted(among, wanted))


def _found(among: NDArray[Any], wanted: NDArray[Any], at: Places) -> NDArray[np.bool_]:
    if not len(among):
        return np.zeros(len(wanted), bool)
    found: NDArray[np.bool_] = among[np.minimum(at, len(among) - 1)] == wanted
    return found
