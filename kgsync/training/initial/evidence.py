"""The informative triples of new elements, and negative sampling for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kgsync.graph.active import TripleRows, TripleSet
from kgsync.graph.hashing import Hashes, mix, unit_interval
from kgsync.models.base import Kind
from kgsync.training.initial.order import NewElement

__all__ = ["DRAWS", "Evidence", "FalseTriples", "KeyedNegatives"]

DRAWS = 16
"""Attempts before all surviving entities are searched."""


@dataclass(frozen=True)
class Evidence:
    """The informative triples of several new elements of one kind, element after element."""

    kind: Kind
    rows: NDArray[np.int64]
    """Row of each element."""
    triples: TripleRows
    owner: NDArray[np.int64]
    """Which element each triple is for."""
    number: NDArray[np.int64]
    """Position of each triple among those of its element."""

    @classmethod
    def of(cls, kind: Kind, elements: Sequence[NewElement], train: TripleRows) -> Evidence:
        """The evidence for elements of one kind."""
        sizes = [len(element.informative) for element in elements]
        return cls(
            kind,
            np.array([element.row for element in elements], np.int64),
            train[:, np.concatenate([element.informative for element in elements])],
            np.repeat(np.arange(len(elements)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
        )

    @property
    def row(self) -> NDArray[np.int64]:
        """For each triple the row of the element it is for."""
        row: NDArray[np.int64] = self.rows[self.owner]
        return row

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where the triples of each element begin, and the end of the last."""
        return np.searchsorted(self.owner, np.arange(len(self.rows) + 1))

    def blocks(self, limit: int) -> Iterator[Evidence]:
        """The elements in blocks of about so many triples; an element is never divided."""
        bounds = self.bounds
        block = (bounds[1:] - 1) // limit
        firsts = np.flatnonzero(np.diff(block, prepend=-1))
        for first, last in pairwise([*firsts, len(self.rows)]):
            part = slice(bounds[first], bounds[last])
            yield Evidence(
                self.kind,
                self.rows[first:last],
                self.triples[:, part],
                self.owner[part] - first,
                self.number[part],
            )

    def where(self, mask: NDArray[np.bool_]) -> Evidence:
        """The triples a mask selects; the elements stay."""
        return Evidence(
            self.kind, self.rows, self.triples[:, mask], self.owner[mask], self.number[mask]
        )


@dataclass(frozen=True)
class FalseTriples:
    """Draws for every triple of some evidence."""

    triples: NDArray[np.int64]
    """Shape (3, draws, triples)."""
    possible: Tensor
    """Shape (draws, triples): whether a negative existed."""


@dataclass(frozen=True, eq=False)
class KeyedNegatives:
    """Samples negatives with random numbers keyed by the element.

    So an element gets the same draws whether it is alone or among others. For an entity the other
    side is replaced, for a relation head or tail; replacements are entities that are in both
    versions, and a training triple is never drawn.
    """

    train: TripleRows
    """The training triples of the new version."""
    survivors: NDArray[np.int64]
    """Rows of the entities to draw from."""
    hashes: dict[Kind, Hashes]
    """For each kind, a permanent number of each row's element."""
    seed: int
    """Another seed, other draws."""

    @cached_property
    def _known(self) -> TripleSet:
        return TripleSet(self.train, len(self.hashes["entity"]), len(self.hashes["relation"]))

    def keys(self, kind: Kind, rows: NDArray[np.int64]) -> Hashes:
        """For each of some elements the number that its draws are made of."""
        return mix(self.hashes[kind][rows] ^ np.uint64(self.seed))

    def draw(self, evidence: Evidence, draws: int, epoch: int) -> FalseTriples:
        """The given number of negatives for each triple, new ones every epoch."""
        count = evidence.triples.shape[1]
        key = self.keys(evidence.kind, evidence.row)
        key = mix(key ^ evidence.number.astype(np.uint64))
        key = np.concatenate(
            [mix(key ^ np.uint64((epoch << 32) + number)) for number in range(draws)]
        )
        false = np.tile(evidence.triples, draws)
        if evidence.kind == "relation":
            side = np.where(key & np.uint64(1), 2, 0)
        else:
            side = np.tile(np.where(evidence.triples[0] == evidence.row, 2, 0), draws)
        open_ = np.arange(draws * count)
        for attempt in range(1, DRAWS + 1 if len(self.survivors) else 1):
            drawn = unit_interval(mix(key[open_] ^ np.uint64(attempt)))
            chosen = (drawn * len(self.survivors)).astype(np.int64)
            false[side[open_], open_] = self.survivors[chosen]
            open_ = open_[self._known.contains(false[:, open_])]
            if not len(open_):
                break
        open_ = self._search(false, side, key, open_)
        if len(open_) and evidence.kind == "relation":
            false[:, open_], side[open_] = evidence.triples[:, open_ % count], 2 - side[open_]
            open_ = self._search(false, side, key, open_)
        possible = np.ones(draws * count, bool)
        possible[open_] = False
        return FalseTriples(
            false.reshape(3, draws, count), torch.from_numpy(possible.reshape(draws, count))
        )

    def _search(
        self,
        false: TripleRows,
        side: NDArray[np.int64],
        key: Hashes,
        open_: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Look through all survivors for the rare dense query; returns what is still open."""
        if not len(open_) or not len(self.survivors):
            return open_
        found = np.zeros(len(open_), bool)
        asked = np.stack([side[open_], false[1, open_], false[2 - side[open_], open_]])
        # Triples share queries: that of an entity has as many as make it dense.
        queries, which = np.unique(asked, axis=1, return_inverse=True)
        which = which.reshape(-1)
        groups = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
        for (column, relation, other), group in zip(queries.T.tolist(), groups, strict=True):
            candidates = np.empty((3, len(self.survivors)), np.int64)
            candidates[column], candidates[1] = self.survivors, relation
            candidates[2 - column] = other
            free = self.survivors[~self._known.contains(candidates)]
            if len(free):
                drawn = unit_interval(mix(key[open_[group]]))
                false[column, open_[group]] = free[(drawn * len(free)).astype(np.int64)]
                found[group] = True
        return open_[~found]
