"""The split into training, validation and test edges: a keyed hash, so it needs no memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["Part", "Split", "Splitter"]


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
        if self.validation == 0 and self.test == 0:
            return np.zeros(len(snapshot), np.uint8)
        state = _mix(terms.entities.hashes[snapshot.heads])
        state = _mix(state ^ terms.relations.hashes[snapshot.relations])
        state = _mix(state ^ terms.entities.hashes[snapshot.tails])
        # The top 53 bits, as an exact float in [0, 1).
        position = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
        parts = np.full(len(snapshot), Part.TRAIN, np.uint8)
        parts[position < self.validation + self.test] = Part.TEST
        parts[position < self.validation] = Part.VALIDATION
        return parts

    def split(self, snapshot: Snapshot, terms: TermIndex) -> Split:
        """The edges of a version by part."""
        parts = self.parts(snapshot, terms)
        return Split(*(snapshot.where(parts == part) for part in Part))


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


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every input bit reaches every output bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
