"""Negative sampling, and sampling of positives for deleted triples, on whole arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import TripleRows, TripleSet
from kgsync.training.settings import NegativeSampling

__all__ = ["CorrectedSampler", "CorruptedSampler", "DenseQueries", "dense_queries", "head_shares"]

_ROUNDS = 16


def head_shares(
    train: TripleRows, relations: int, sampling: NegativeSampling = "uniform"
) -> NDArray[np.float64]:
    """For each relation the probability that the head is replaced, rather than the tail.

    With "bernoulli" tph / (tph + hpt) of TransH's paper: the mean number of tails a head has, and
    of heads a tail has. A head with many tails is rather replaced itself: it may well have more
    that the graph does not know.
    """
    if sampling == "uniform":
        return np.full(relations, 0.5)
    heads, tails = (
        np.bincount(np.unique(train[[1, side]], axis=1)[0], minlength=relations) for side in (0, 2)
    )
    # With n triples, n / heads to n / tails is as tails to heads.
    return np.where(heads > 0, tails / np.maximum(heads + tails, 1), 0.5)


class DenseQueries(NamedTuple):
    """Queries, (?, r, t) or (h, r, ?), that more than half of the entities answer, and the others.

    Any other query has its false answers by repeated draws, two on the average.
    """

    keys: NDArray[np.int64]
    """(side · relations + relation) · entities + entity given, sorted; side 1 asks for tails."""
    bounds: NDArray[np.int64]
    """Where the entities of each begin, and the end of the last."""
    free: NDArray[np.int32]
    """The entities that do not answer, query after query; no more in total than positives."""


def dense_queries(train: TripleRows, entities: int, relations: int) -> DenseQueries:
    """The dense queries of the training triples over so many entity and relation rows."""
    keys, frees = [], []
    for side, (given, asked) in enumerate(((train[2], train[0]), (train[0], train[2]))):
        popular = 2 * np.bincount(given, minlength=entities) > entities
        rows = np.flatnonzero(popular[given])
        key = (side * relations + train[1, rows]) * entities + given[rows]
        order = np.argsort(key, kind="stable")
        distinct, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
        for at in np.flatnonzero(2 * counts > entities):
            answers = asked[rows[order[starts[at] : starts[at] + counts[at]]]]
            is_free = np.ones(entities, bool)
            is_free[answers] = False
            keys.append(int(distinct[at]))
            frees.append(np.flatnonzero(is_free).astype(np.int32))
    bounds = np.cumsum([0, *map(len, frees)])
    none = np.empty(0, np.int32)
    return DenseQueries(np.array(keys, np.int64), bounds, np.concatenate([none, *frees]))


class CorruptedSampler:
    """Samples negatives (eq. corruptedTriples): head or tail replaced, never a training triple."""

    def __init__(
        self,
        train: TripleRows,
        entities: int,
        relations: int,
        random: np.random.Generator,
        sampling: NegativeSampling = "uniform",
    ) -> None:
        """Index the training triples.

        Args:
            train: Rows that must never be drawn.
            entities: Number of entity rows to draw from.
            relations: Number of relation rows.
            random: Source of randomness.
            sampling: How to choose between head and tail.
        """
        self._head_shares = head_shares(train, relations, sampling)
        self._known = TripleSet(train, entities, relations)
        self._dense = dense_queries(train, entities, relations)
        self._entities = entities
        self._random = random

    def draw(self, triples: TripleRows) -> tuple[TripleRows, NDArray[np.bool_]]:
        """One negative for each triple, and whether one exists.

        A triple has none if every entity on either side gives a training triple.
        """
        corrupted = triples.copy()
        count = triples.shape[1]
        on_head = self._random.random(count) < self._head_shares[triples[1]]
        side = np.where(on_head, 0, 2)
        open_ = np.arange(count)
        for _ in range(_ROUNDS):
            open_ = self._try(corrupted, side, open_)
        open_ = self._settle(corrupted, side, open_)
        corrupted[:, open_], side[open_] = triples[:, open_], 2 - side[open_]
        open_ = self._settle(corrupted, side, open_)
        possible = np.ones(count, bool)
        possible[open_] = False
        return corrupted, possible

    def _try(
        self, corrupted: TripleRows, side: NDArray[np.int64], open_: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Draw any entity for those that are open; returns those that got a training triple."""
        if len(open_):
            corrupted[side[open_], open_] = self._random.integers(0, self._entities, len(open_))
            open_ = open_[self._known.contains(corrupted[:, open_])]
        return open_

    def _settle(
        self, corrupted: TripleRows, side: NDArray[np.int64], open_: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Draw for all that are open; returns those whose query every entity answers."""
        if not len(open_):
            return open_
        keys, bounds, free = self._dense
        columns, relation = side[open_], corrupted[1, open_]
        relations = len(self._head_shares)
        given = corrupted[2 - columns, open_]
        key = (columns // 2 * relations + relation) * self._entities + given
        at, size = _range(keys, key)
        dense = size > 0
        others = open_[~dense]
        while len(others):  # at least every second draw is a negative
            others = self._try(corrupted, side, others)
        open_, start, end = open_[dense], bounds[at[dense]], bounds[at[dense] + 1]
        some = end > start
        pick = self._random.random(int(some.sum())) * (end - start)[some]
        chosen = free[start[some] + pick.astype(np.int64)]
        corrupted[side[open_[some]], open_[some]] = chosen
        return open_[~some]


class CorrectedSampler:
    """Samples from eq. correctTriples: for a deleted triple, a positive that shares two terms."""

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
