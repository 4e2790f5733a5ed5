"""The pairs of triples that an epoch of a local update learns from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import TripleRows, are_among
from kgsync.graph.row_triples import Columns, RowTriples
from kgsync.training.problem import Problem
from kgsync.training.samplers import head_shares
from kgsync.training.updates.parts.amounts import amounts_for
from kgsync.training.updates.parts.concern import Concern
from kgsync.training.updates.parts.forgetting import Forgetting

__all__ = ["LocalPairs", "Negatives", "pairs_per_epoch"]

_EVIDENCE = 3
"""Triples of an entity that is trained in part, for each triple it gained or lost."""
_ROUNDS = 16
"""Draws before a positive goes without a negative."""

_NONE = np.empty((3, 0), np.int64)


class Negatives:
    """Negative sampling that looks training triples up in sorted keys: nothing is indexed."""

    def __init__(self, problem: Problem, random: np.random.Generator) -> None:
        """Take the training triples of a version; they are sorted."""
        self._train, self._random = problem.training, random
        self._entities, relations = len(problem.active.entities), len(problem.active.relations)
        sampling = problem.settings.training.negative_sampling
        triples = _NONE if sampling == "uniform" else problem.train
        self._head_shares = head_shares(triples, relations, sampling)

    def draw(self, positive: TripleRows) -> TripleRows:
        """A negative for each positive: head or tail replaced by any entity; head -1 if none."""
        count = positive.shape[1]
        on_head = self._random.random(count) < self._head_shares[positive[1]]
        side = np.where(on_head, 0, 2)
        return self._replaced(
            positive, side, lambda open_: self._random.integers(0, self._entities, len(open_))
        )

    def put(self, rows: Columns, into: TripleRows) -> TripleRows:
        """Negatives with given entities as false answers, on a random side of positives."""
        side = np.where(self._random.random(len(rows)) < 0.5, 0, 2)
        negative = into.copy()
        negative[side, np.arange(len(rows))] = rows
        negative[0, self._train.contains(negative)] = -1
        return negative

    def _replaced(self, positive: TripleRows, side: Columns, draw) -> TripleRows:  # type: ignore[no-untyped-def]
        negative, open_ = positive.copy(), np.arange(positive.shape[1])
        for _ in range(_ROUNDS):
            negative[side[open_], open_] = draw(open_)
            open_ = open_[self._train.contains(negative[:, open_])]
            if not len(open_):
                break
        negative[0, open_] = -1
        return negative


class LocalPairs:
    """Makes the pairs of one epoch after the other."""

    def __init__(self, problem: Problem, concern: Concern, random: np.random.Generator) -> None:
        """Find the triples around the rows that the change concerns."""
        train = problem.training
        self._train, self._concern, self._random = train, concern, random
        self.negatives = Negatives(problem, random)
        whole, partly = concern.whole, concern.partly
        around = train.around(np.flatnonzero(whole.entities), np.flatnonzero(whole.relations))
        self.added = added = train.columns(concern.added)
        """Where the added triples are among the training triples."""
        inside = are_among(added, around)
        repeats = amounts_for(problem).repeats
        self._fixed = np.concatenate(
            [
                around,
                np.tile(added[inside], repeats - 1),
                np.tile(added[~inside], repeats),
            ]
        )
        self._by_entity = _Incident(train, np.flatnonzero(partly))
        self._samples = np.repeat(
            self._by_entity.rows, _wanted_evidence(concern)[self._by_entity.rows]
        )
        self._reversed = np.flatnonzero(concern.moving.entities)
        self._often = _reverse_negatives(concern, problem)[self._reversed]

    def epoch(self, forgetting: Forgetting) -> tuple[TripleRows, TripleRows]:
        """Positives and their negatives, in random order."""
        drawn = self._by_entity.draw(self._samples, self._random)
        positive = self._train.take(np.concatenate([self._fixed, drawn]))
        pairs = [(positive, self.negatives.draw(positive)), self._reverse(), forgetting.pairs()]
        true = np.concatenate([each for each, _ in pairs], axis=1)
        false = np.concatenate([each for _, each in pairs], axis=1)
        order = self._random.permutation(true.shape[1])
        order = order[false[0, order] >= 0]
        return true[:, order], false[:, order]

    def _reverse(self) -> tuple[TripleRows, TripleRows]:
        counts = (self._often + self._random.random(len(self._often))).astype(np.int64)
        rows = np.repeat(self._reversed, counts)
        into = self._train.take(self._random.integers(0, len(self._train), len(rows)))
        return into, self.negatives.put(rows, into)


def pairs_per_epoch(concern: Concern, problem: Problem) -> float:
    """How many pairs an epoch has at most, without indexing the training triples."""
    whole, train = concern.whole, problem.training
    fixed = int(train.degree[whole.entities].sum() + train.uses[whole.relations].sum())
    repeated = amounts_for(problem).repeats * concern.added.shape[1]
    reverse = _reverse_negatives(concern, problem)[concern.moving.entities]
    evidence = _wanted_evidence(concern)[concern.partly]
    unlearned = concern.deleted.shape[1]  # all of them, if they were major
    return float(fixed + repeated + reverse.sum() + evidence.sum() + unlearned)


def _wanted_evidence(concern: Concern) -> Columns:
    """For each entity, how many of its triples a sample has."""
    return np.minimum(_EVIDENCE * concern.now, concern.degree)


def _reverse_negatives(concern: Concern, problem: Problem) -> NDArray[np.float64]:
    """For each entity, how often it is the false answer if it moves.

    This is at least about as often as in an epoch over all triples.
    """
    often = len(problem.training) / max(1, len(problem.active.entities))
    share = _wanted_evidence(concern) / np.maximum(concern.degree, 1)
    share[concern.whole.entities] = 1.0
    return max(amounts_for(problem).reverse, often) * share


class _Incident:
    """The training triples of some entities, entity after entity."""

    def __init__(self, train: RowTriples, rows: Columns) -> None:
        """Index the triples of some entities.

        Args:
            train: All training triples.
            rows: The entities.
        """
        owners, columns = [], []
        for side in (0, 2):
            found = train.with_ends(rows, side)
            owners.append(train.take(found)[side])
            columns.append(found)
        owner, column = np.concatenate(owners), np.concatenate(columns)
        order = np.argsort(owner, kind="stable")
        self._columns = column[order]
        self.rows, first = np.unique(owner[order], return_index=True)
        ends = np.append(first[1:], len(owner))
        size = int(self.rows.max(initial=-1)) + 1
        self._first, self._count = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._first[self.rows], self._count[self.rows] = first, ends - first

    def draw(self, rows: Columns, random: np.random.Generator) -> Columns:
        """For each row a random triple of its own, as a column of the training triples."""
        at = self._first[rows] + (random.random(len(rows)) * self._count[rows]).astype(np.int64)
        return self._columns[at]
