"""The split into training, validation and test edges, by a keyed hash; nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.hashing import Hashes, mix, mixed, unit_interval
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = [
    "EdgeSums",
    "Part",
    "Split",
    "Splitter",
    "edge_hashes",
    "edges_fingerprint",
    "persistent_rows",
    "persistent_sample",
]


class Part(IntEnum):
    """Which set an edge belongs to; the paper's S, W and T."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2


Parts = NDArray[np.uint8]


@dataclass(frozen=True)
class Splitter:
    """Assigns each edge to a part by the keyed hashes of its three IRIs.

    An edge that leaves and returns lands in the same part, on any machine.
    """

    validation: float
    test: float

    def parts(self, snapshot: Snapshot, terms: TermIndex) -> Parts:
        """The part of each edge."""
        parts = np.full(len(snapshot), Part.TRAIN, np.uint8)
        if self.validation == 0 and self.test == 0:
            return parts
        position = unit_interval(edge_hashes(snapshot, terms))
        parts[position < self.validation + self.test] = Part.TEST
        parts[position < self.validation] = Part.VALIDATION
        return parts

    def split(self, snapshot: Snapshot, terms: TermIndex) -> Split:
        """The edges of a version by part."""
        parts = self.parts(snapshot, terms)
        return Split(*(snapshot.where(parts == part) for part in Part))


def edge_hashes(snapshot: Snapshot, terms: TermIndex) -> Hashes:
    """A number for each edge, made of the keyed hashes of its three IRIs."""
    entities, relations = terms.entities.hashes, terms.relations.hashes
    return mixed(entities[snapshot.heads], relations[snapshot.relations], entities[snapshot.tails])


@dataclass(frozen=True)
class EdgeSums:
    """What identifies a set of edges, by their IRIs alone, not by ids, order or origin.

    It is made of sums, so that those of the next version follow from the change.
    """

    count: int
    sums: tuple[int, int]

    @classmethod
    def of(cls, snapshot: Snapshot, terms: TermIndex) -> EdgeSums:
        """The sums over all edges."""
        hashes = edge_hashes(snapshot, terms)
        first, second = (int(each.sum(dtype=np.uint64)) for each in (hashes, mix(~hashes)))
        return cls(len(snapshot), (first, second))

    def changed(self, deleted: Snapshot, added: Snapshot, terms: TermIndex) -> EdgeSums:
        """The sums after edges went and others came."""
        gone, come = EdgeSums.of(deleted, terms), EdgeSums.of(added, terms)
        first, second = (
            (mine - less + more) % 2**64
            for mine, less, more in zip(self.sums, gone.sums, come.sums, strict=True)
        )
        return EdgeSums(self.count - gone.count + come.count, (first, second))

    @property
    def fingerprint(self) -> str:
        """A name for the set of edges."""
        return "-".join([str(self.count), *(f"{number:016x}" for number in self.sums)])


def edges_fingerprint(snapshot: Snapshot, terms: TermIndex) -> str:
    """A name for a set of edges; see `EdgeSums`."""
    return EdgeSums.of(snapshot, terms).fingerprint


def persistent_sample(snapshot: Snapshot, terms: TermIndex, size: int) -> Snapshot:
    """The edges with the smallest hashes of another kind than those of the split; all for 0.

    An edge of the sample stays in it, from version to version, until so many new edges with smaller
    hashes have come.
    """
    if size == 0 or size >= len(snapshot):
        return snapshot
    mask = np.zeros(len(snapshot), bool)
    mask[persistent_rows(edge_hashes(snapshot, terms), size)] = True
    return snapshot.where(mask)


def persistent_rows(hashes: Hashes, size: int) -> NDArray[np.int64]:
    """Which of some hashes a sample takes that persists as `persistent_sample` does; all for 0."""
    if size == 0 or size >= len(hashes):
        return np.arange(len(hashes))
    return np.sort(np.argpartition(mix(~hashes), size)[:size])


@dataclass(frozen=True)
class Split:
    """The three parts of one version."""

    train: Snapshot
    validation: Snapshot
    test: Snapshot

    def changed(self, deleted: tuple[Snapshot, ...], added: tuple[Snapshot, ...]) -> Split:
        """The parts after edges of each went and others came, that it lacked."""
        parts = zip((self.train, self.validation, self.test), deleted, added, strict=True)
        return Split(*(part.changed(gone, come) for part, gone, come in parts))

    def sizes(self) -> dict[str, int]:
        """Number of edges by part."""
        return {
            "train": len(self.train),
            "validation": len(self.validation),
            "test": len(self.test),
        }
