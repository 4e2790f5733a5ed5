"""A sample of the training triples that persists from version to version, for what changed.

It is made of the triples with the smallest hashes. Those of the next version follow from the change
without a look at all of its triples, because some more than the sample needs are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.change import ChangeSet
from kgsync.graph.hashing import Hashes
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Part
from kgsync.graph.terms import TermIndex

__all__ = ["UnchangedSample"]

_SPARE = 3
"""How many times as many triples are kept as the sample has."""


@dataclass(frozen=True)
class UnchangedSample:
    """The training triples of a version with the smallest hashes, for samples of one size."""

    triples: Snapshot
    """All training triples whose hashes are not larger than the largest of theirs."""
    size: int

    @classmethod
    def of(cls, train: Snapshot, terms: TermIndex, size: int, more: int = 0) -> UnchangedSample:
        """The triples with the smallest hashes.

        Args:
            train: All training triples.
            terms: The ids.
            size: Of the sample.
            more: How many triples may have to be left out of it.
        """
        return cls(_smallest(train, terms, _SPARE * size + more), size)

    def next(self, train: Snapshot, change: ChangeSet, terms: TermIndex) -> UnchangedSample:
        """That of the next version.

        Args:
            train: All training triples of the next version.
            change: What leads to it.
            terms: Its ids.
        """
        added, deleted = change.part(Part.TRAIN)
        if len(self.triples):
            largest = _hashes(self.triples, terms).max()
            small = added.where(_hashes(added, terms) <= largest)
            found = self.triples.minus(deleted).plus(small)
            if len(found.minus(added)) >= self.size or len(found) == len(train):
                kept = _smallest(found, terms, _SPARE * self.size + len(added))
                return UnchangedSample(kept, self.size)
        return UnchangedSample.of(train, terms, self.size, len(added))

    def without(self, added: Snapshot, terms: TermIndex) -> Snapshot:
        """The sample: triples that were there before."""
        return _smallest(self.triples.minus(added), terms, self.size)


def _hashes(edges: Snapshot, terms: TermIndex) -> Hashes:
    """A number for each triple; sums of hashes are far faster than mixing them again."""
    entities, relations = terms.entities.hashes, terms.relations.hashes
    hashes: Hashes = entities[edges.heads] + np.uint64(3) * entities[edges.tails]
    hashes += (np.uint64(5) * relations)[edges.relations]
    return hashes


def _smallest(edges: Snapshot, terms: TermIndex, size: int) -> Snapshot:
    if size >= len(edges):
        return edges
    at: NDArray[np.int64] = np.argpartition(_hashes(edges, terms), size)[:size]
    at.sort()
    return Snapshot(*(column[at] for column in edges.columns))
