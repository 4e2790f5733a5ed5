"""Drawing false triples for true ones, and true ones for deleted ones, in whole arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgsync.config import Corruption
from kgsync.graph.living import TripleRows, TripleSet

__all__ = ["CorrectedSampler", "CorruptedSampler", "head_shares"]

_ROUNDS = 16


def head_shares(
    train: TripleRows, relations: int, corruption: Corruption = "uniform"
) -> NDArray[np.float64]:
    """For each relation the probability that the head is replaced, rather than the tail.

    With "bernoulli" tph / (tph + hpt) of TransH's paper: the mean number of tails a head has, and
    of heads a tail has. A head with many tails is rather replaced itself: it may well have more
    that the graph does not know.
    """
    if corruption == "uniform":
        return np.full(relations, 0.5)
    heads, tails = (
        np.bincount(np.unique(train[[1, side]], axis=1)[0], minlength=relations) for side in (0, 2)
    )
    # With n triples, n / heads to n / tails is as tails to heads.
    return np.where(heads > 0, tails / np.maximum(heads + tails, 1), 0.5)


class CorruptedSampler:
    """Draws from eq. corruptedTriples: head or tail replaced, never a training triple."""

    def __init__(
        self,
        train: TripleRows,
        entities: int,
        relations: int,
        random: np.random.Generator,
        corruption: Corruption = "uniform",
    ) -> None:
        """Index the training triples.

        Args:
            train: Rows that must never be drawn.
            entities: Number of entity rows to draw from.
            relations: Number of relation rows.
            random: Source of randomness.
            corruption: How to choose between head and tail.
        """
        self._head_shares = head_shares(train, relations, corruption)
        self._known = TripleSet(train, entities, relations)
        self._entities = entities
        self._random = random

    def draw(self, triples: TripleRows) -> tuple[TripleRows, NDArray[np.bool_]]:
        """One corrupted triple for each, and whether there was one.

        A triple has none if every entity on either side gives a training triple.
        """
        corrupted = triples.copy()
        count = triples.shape[1]
        on_head = self._random.random(count) < self._head_shares[triples[1]]
        side = np.where(on_head, 0, 2)
        open_ = np.arange(count)
        for _ in range(_ROUNDS):
            corrupted[side[open_], open_] = self._random.integers(0, self._entities, len(open_))
            open_ = open_[self._known.contains(corrupted[:, open_])]
            if not len(open_):
                break
        possible = np.ones(count, bool)
        for position in open_:
            possible[position] = self._search(
                corrupted, triples, int(position), int(side[position])
            )
        return corrupted, possible

    def _search(self, corrupted: TripleRows, triples: TripleRows, at: int, side: int) -> bool:
        """Look through all entities of one side, then of the other, for the rare dense query."""
        for column in (side, 2 - side):
            candidates = np.repeat(triples[:, at : at + 1], self._entities, axis=1)
            candidates[column] = np.arange(self._entities)
            free = np.flatnonzero(~self._known.contains(candidates))
            if len(free):
                corrupted[:, at] = candidates[:, self._random.choice(free)]
                return True
        return False


class CorrectedSampler:
    """Draws from eq. correctTriples: for a deleted triple a true one that shares two terms."""

    def __init__(self, train: TripleRows, relations: int, random: np.random.Generator) -> None:
        """Index the training triples.

        Args:
            train: Rows of the new version's training triples.
            relations: Number of relation rows.
            random: Source of randomness.
        """
        heads, relation, tails = train
        self._train = train
        self._relations = relations
        self._random = random
        head_keys, tail_keys = heads * relations + relation, tails * relations + relation
        self._by_head = np.argsort(head_keys, kind="stable")
        self._by_tail = np.argsort(tail_keys, kind="stable")
        self._head_keys, self._tail_keys = head_keys[self._by_head], tail_keys[self._by_tail]

    def draw(self, deleted: TripleRows) -> TripleRows:
        """One corrected triple for each deleted one; any training triple where there is none."""
        heads, relation, tails = deleted
        head_start, head_count = _range(self._head_keys, heads * self._relations + relation)
        tail_start, tail_count = _range(self._tail_keys, tails * self._relations + relation)
        total = head_count + tail_count
        # The two sets are disjoint, since a deleted triple is not in the training set.
        pick = (self._random.random(len(heads)) * np.maximum(total, 1)).astype(np.int64)
        from_head = pick < head_count
        chosen = self._random.integers(0, self._train.shape[1], len(heads))
        at = np.flatnonzero((total > 0) & from_head)
        chosen[at] = self._by_head[head_start[at] + pick[at]]
        at = np.flatnonzero((total > 0) & ~from_head)
        chosen[at] = self._by_tail[tail_start[at] + pick[at] - head_count[at]]
        return self._train[:, chosen]


def _range(
    keys: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    start = np.searchsorted(keys, wanted, "left")
    return start, np.searchsorted(keys, wanted, "right") - start
