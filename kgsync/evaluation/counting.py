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

__all__ = [
    "SIDES",
    "Counts",
    "Queries",
    "Vectors",
    "compared",
    "count_all",
    "count_some",
    "own_scores",
]

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

    def candidates(self, rows: NDArray[np.int64] | slice) -> Rows:
        """Some entities, column by column."""
        some = rows if isinstance(rows, slice) else torch.from_numpy(rows)
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
    pairs = answers.numbers(queries.given, queries.relations)
    counts = _no_counts(queries, vectors)
    for start in range(0, len(order), block):
        part = order[start : start + block]
        some = queries.where(part)
        scores = vectors.scores(some, vectors.all_candidates)
        # The true score comes from the same matrix as its rivals': equal vectors tie exactly.
        own = scores[np.arange(len(part)), some.true]
        counts.own[part] = own
        counts.better[part], counts.equal[part] = compared(scores, own, pairs[part], answers)
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
    pairs = answers.numbers(queries.given, queries.relations)
    if candidates is None:
        size = len(vectors.entities["entity"])
    else:
        size, answers = len(candidates), answers.among(candidates)
    for begin in range(0, size if len(order) else 0, _CANDIDATES):
        end = min(begin + _CANDIDATES, size)
        rows = slice(begin, end)
        others = vectors.candidates(rows if candidates is None else candidates[rows])
        block = _block(end - begin, vectors, memory_mb)
        for start in range(0, len(order), block):
            part = order[start : start + block]
            scores = vectors.scores(queries.where(part), others)
            better, equal = compared(scores, own[part], pairs[part], answers, begin)
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


def compared(
    scores: NDArray[Any],
    own: NDArray[Any],
    pairs: NDArray[np.int64],
    answers: Answers,
    begin: int = 0,
    rivals: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many scores of each query are better than its own, and how many are equal.

    Args:
        scores: Queries x candidates.
        own: For each query the score of its true entity.
        pairs: For each query the number of its pair among the answers.
        answers: Known answers, numbered as the candidates are; they do not count. They are looked
            up where they are: queries with the same pair do not need a copy each.
        begin: The number of the first candidate.
        rivals: How many candidates count, from the first; all of them if it is None.

    Raises:
        TrainingError: A score is NaN.
    """
    size = scores.shape[1] if rivals is None else rivals
    found = _count(scores, own, size, pairs, answers.start, answers.entities, begin)
    better, equal, numbers = found
    if not numbers:
        raise TrainingError("a score is NaN: the vectors cannot be used")
    return better, equal


@compiled()
def _count(
    scores: Any, own: Any, size: Any, pairs: Any, start: Any, entities: Any, begin: Any
) -> Any:
    """How many scores of each row are better than its own or equal, and whether all are numbers."""
    better, equal = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    numbers = True
    end = begin + size
    for query in range(len(own)):
        row, mine = scores[query], own[query]
        above, level, unequal = 0, 0, int(np.isnan(mine))
        for i in range(size):
            above += row[i] > mine
            level += row[i] == mine
            unequal += row[i] != row[i]  # true only for NaN
        first, last = start[pairs[query]], start[pairs[query] + 1]
        at = first + np.searchsorted(entities[first:last], begin)
        while at < last and entities[at] < end:  # the known answers, the true one among them
            score = row[entities[at] - begin]
            above -= score > mine
            level -= score == mine
            at += 1
        better[query], equal[query] = above, level
        numbers = numbers and unequal == 0
    return better, equal, numbers
