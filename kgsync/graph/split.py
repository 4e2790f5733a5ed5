"""The split into training, validation and test edges, by a keyed hash; nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.hashing import Hashes, mixed, unit_interval
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["Part", "Split", "Splitter", "edge_hashes"]


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
class Split:
    """The three parts of one version."""

    train: Snapshot
    validation: Snapshot
    test: Snapshot

    def sizes(self) -> dict[str, int]:
        """Number of edges by part."""
        return {
            "train": len(self.train),
            "validation": len(self.validation),
            "test": len(self.test),
        }
