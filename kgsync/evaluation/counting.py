"""Counting, for each query, the entities with better and with equal scores, in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.common.compiled import compiled
from kgsync.errors import TrainingError
from kgsync.evaluation.known import Answers, KnownTriples, Side
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model, Rows

__all__ = ["SIDES", "Counts", "Queries", "Vectors", "count_all", "count_some", "own_scores"]

SIDES: tuple[Side, Side] = ("head", "tail")

_QUERIES = 256  # a block: enough that reading all candidates for it takes no time
_CANDIDATES = 1 << 15  # a part of them, copied column by column


@dataclass(frozen=True)
class Queries:
    """Questions for one side of triples, as rows."""

    side: Side
    given: NDArray[np.int64]
    """The entities on the other side."""
    relations: NDArray[np.int64]
    true: NDArray[np.int64]
    """The entities that are ranked."""

    @classmethod
    def of(cls, triples: TripleRows, side: Side) -> Queries:
        """Those of triples."""
        heads, relations, tails = triples
        given, true = (heads, tails) if side == "tail" else (tails, heads)
        return cls(side, given, relations, true)

    def __len__(self) -> int:
        return len(self.given)

    def where(self, which: Any) -> Queries:
        """Some of them."""
        return Queries(self.side, self.given[which], self.relations[which], self.true[which])

    def by_relation(self) -> NDArray[np.int64]:
        """Their order by relation: some models look at all entities anew for each relation."""
        return np.argsort(self.relations, kind="stable")


@dataclass
class Counts:
    """For each query how its true entity compares with the others, known answers left out."""

    better: NDArray[np.int64]
    """How many entities have a higher score."""
    equal: NDArray[np.int64]
    """How many have the same."""
    own: NDArray[Any]
    """The score of the true entity."""

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Ties count as the mean of the best and the worst rank."""
        ranks: NDArray[np.float64] = 1 + self.better + self.equal / 2
        return ranks


@dataclass(frozen=True)
class Vectors:
    """The vectors of a model, gathered once for all queries."""

    model: Model
    entities: Rows
    relations: Rows

    @classmethod
    def of(cls, model: Model) -> Vectors:
        """All vectors of a model."""
        return cls(model, model.rows("entity", slice(None)), model.rows("relation", slice(None)))

    @cached_property
    def all_candidates(self) -> Rows:
        """All entities, column by column, as they are scored."""
        return _by_columns(self.entities)

    def candidates(self, rows: NDArray[np.int64]) -> Rows:
        """Some entities, column by column."""
        some = torch.from_numpy(rows)
        return _by_columns({name: table[some] for name, table in self.entities.items()})

    def scores(self, queries: Queries, candidates: Rows) -> NDArray[Any]:
        """Scores (queries x candidates) on the side that is asked for."""
        score = self.model.score_tails if queries.side == "tail" else self.model.score_heads
        entity, relation = torch.from_numpy(queries.given), torch.from_numpy(queries.relations)
        given_rows = {name: table[entity] for name, table in self.entities.items()}
        relation_rows = {name: table[relation] for name, table in self.relations.items()}
        scores: NDArray[Any] = score(given_rows, relation_rows, candidates).numpy()
        return scores


def count_all(vectors: Vectors, queries: Queries, known: KnownTriples, memory_mb: int) -> Counts:
    """Compare the true entities with all others.

    Args:
        vectors: The vectors of a model.
        queries: What to rank.
        known: All positive triples.
        memory_mb: Bound on one block of scores.

    Raises:
        TrainingError: A score is NaN.
    """
    block = _block(len(vectors.entities["entity"]), vectors, memory_mb)
    order = queries.by_relation()
    answers = known.find(queries.side, queries.given, queries.relations)
    parts = [order[start : start + block] for start in range(0, len(order), block)]
    counts = _no_counts(queries, vectors)
    for part in parts:
        some = queries.where(part)
        scores = vectors.scores(some, vectors.all_candidates)
        # The true score comes from the same matrix as its rivals': equal vectors tie exactly.
        own = scores[np.arange(len(part)), some.true]
        known_answers = answers.of(some.given, some.relations)
        counts.own[part] = own
        counts.better[part], counts.equal[part] = _compared(scores, own, *known_answers)
    return counts


def own_scores(vectors: Vectors, queries: Queries) -> NDArray[Any]:
    """The scores of the true entities alone."""
    own = _no_counts(queries, vectors).own
    order = queries.by_relation()
    for start in range(0, len(order), _QUERIES):
        part = order[start : start + _QUERIES]
        some = queries.where(part)
        own[part] = vectors.scores(some, vectors.candidates(some.true)).diagonal()
    return own


def count_some(
    vectors: Vectors,
    queries: Queries,
    own: NDArray[Any],
    candidates: NDArray[np.int64] | None,
    answers: Answers,
    memory_mb: int,
) -> Counts:
    """Compare the true entities, whose scores are known, with some others, or with all.

    A model gives a query and a candidate the same score whatever is scored with them, so what is
    counted part by part adds up to `count_all`.

    Args:
        vectors: The vectors of a model.
        queries: What to compare.
        own: The scores of the true entities.
        candidates: Sorted rows of the others; all if it is None. They pass by in parts, so that few
            queries do not need a copy of all vectors.
        answers: Known answers, which are left out.
        memory_mb: Bound on one block of scores.

    Raises:
        TrainingError: A score is NaN.
    """
    order, counts = queries.by_relation(), _no_counts(queries, vectors)
    counts.own[:] = own
    size = len(vectors.entities["entity"]) if candidates is None else len(candidates)
    for begin in range(0, size if len(order) else 0, _CANDIDATES):
        end = min(begin + _CANDIDATES, size)
        rows = np.arange(begin, end) if candidates is None else candidates[begin:end]
        others = vectors.candidates(rows)
        block = _block(len(rows), vectors, memory_mb)
        for start in range(0, len(order), block):
            part = order[start : start + block]
            some = queries.where(part)
            query, answer = answers.of(some.given, some.relations)
            at = np.minimum(np.searchsorted(rows, answer), len(rows) - 1)
            here = rows[at] == answer
            scores = vectors.scores(some, others)
            better, equal = _compared(scores, own[part], query[here], at[here])
            counts.better[part] += better
            counts.equal[part] += equal
    return counts


def _by_columns(rows: Rows) -> Rows:
    return {name: table.T.contiguous().T for name, table in rows.items()}


def _block(candidates: int, vectors: Vectors, memory_mb: int) -> int:
    """How many queries are scored at a time."""
    size = vectors.entities["entity"].itemsize
    return max(1, min(_QUERIES, memory_mb * 2**20 // (candidates * size)))


def _no_counts(queries: Queries, vectors: Vectors) -> Counts:
    better, equal = np.zeros((2, len(queries)), np.int64)
    dtype = vectors.entities["entity"].numpy().dtype
    return Counts(better, equal, np.empty(len(queries), dtype))


def _compared(scores: Any, own: Any, queries: Any, entities: Any) -> Any:
    better, equal, numbers = _count(scores, own, queries, entities)
    if not numbers:
        raise TrainingError("a score is NaN: the vectors cannot be used")
    return better, equal


@compiled()
def _count(scores: Any, own: Any, queries: Any, entities: Any) -> Any:
    """How many scores of each row are better than its own or equal, and whether all are numbers."""
    better, equal = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    numbers = True
    for query in range(len(own)):
        row, mine = scores[query], own[query]
        above, level, unequal = 0, 0, 0
        for i in range(len(row)):
            above += row[i] > mine
            level += row[i] == mine
            unequal += row[i] != row[i]  # true only for NaN
        better[query], equal[query] = above, level
        numbers = numbers and unequal == 0
    for at in range(len(queries)):  # the known answers, the true one among them, do not count
        query = queries[at]
        score, mine = scores[query, entities[at]], own[query]
        better[query] -= score > mine
        equal[query] -= score == mine
    return better, equal, numbers
