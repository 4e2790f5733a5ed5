"""Filtered link prediction in batches of bounded memory: MR, MRR, Hits@k, with exact ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.common.compiled import compiled
from kgsync.errors import TrainingError, UndefinedMetricError
from kgsync.graph.living import TripleRows
from kgsync.graph.snapshot import KeyLayout, Keys
from kgsync.models.base import Model, Rows

__all__ = ["HITS", "KnownTriples", "LinkPrediction", "link_prediction", "ranks"]

HITS = (1, 3, 10, 100)
Side = Literal["head", "tail"]

_QUERIES = 256  # a block: enough that reading all candidates for it takes no time


@dataclass(frozen=True)
class LinkPrediction:
    """Quality over the ranks of both sides of a set of triples."""

    mr: float
    mrr: float
    hits: dict[int, float]
    triples: int
    """How many triples were ranked."""
    sampled_from: int
    """How many there were to choose from; the same if all were ranked."""
    mrr_error: float
    """Standard error of the MRR; 0 if all triples were ranked, infinite if only one of several."""
    hits_at_10_error: float
    """The same of Hits@10."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for reports."""
        hits = {f"hits@{k}": value for k, value in self.hits.items()}
        errors = {"mrr_error": self.mrr_error, "hits@10_error": self.hits_at_10_error}
        counts = {"triples": self.triples, "sampled_from": self.sampled_from}
        return {"mr": self.mr, "mrr": self.mrr, **hits, **errors, **counts}


class KnownTriples:
    """All positive triples of a version as sorted keys, indexed by two of their terms."""

    def __init__(self, triples: TripleRows, relations: int) -> None:
        """Index the triples.

        Args:
            triples: Rows of the positive triples.
            relations: Number of relation rows.
        """
        heads, relation, tails = triples.astype(np.int32)
        relation_bits = max(1, (relations - 1).bit_length())
        self._layout = KeyLayout((64 - relation_bits) // 2, relation_bits)
        self._keys = {
            "tail": _distinct(self._layout.pack(heads, relation, tails)),
            "head": _distinct(self._layout.pack(tails, relation, heads)),
        }

    def answers(
        self, side: Side, given: NDArray[np.int64], relation: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Known answers of queries: (query number, entity row), one pair per answer.

        Args:
            side: Which side is asked for.
            given: Entity rows of the other side.
            relation: Relation rows.
        """
        keys = self._keys[side]
        none = np.zeros(len(given), np.int32)
        first = self._layout.pack(given.astype(np.int32), relation.astype(np.int32), none)
        answer = np.uint64((1 << self._layout.entity_bits) - 1)  # the last bits of a key
        last = first | answer
        start = np.searchsorted(keys, first, "left")
        count = np.searchsorted(keys, last, "right") - start
        query = np.repeat(np.arange(len(given)), count)
        offset = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
        return query, (keys[start[query] + offset] & answer).astype(np.int64)


@dataclass(frozen=True)
class _Vectors:
    """The vectors of a model, gathered once for all queries."""

    model: Model
    entities: Rows
    relations: Rows
    candidates: Rows
    """All entities, column by column, as they are scored."""

    @classmethod
    def of(cls, model: Model) -> _Vectors:
        entities = model.rows("entity", slice(None))
        candidates = {name: table.T.contiguous().T for name, table in entities.items()}
        return cls(model, entities, model.rows("relation", slice(None)), candidates)

    def scores(
        self, side: Side, given: NDArray[np.int64], relations: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Scores (queries x entities) of every entity on the side that is asked for."""
        score = self.model.score_tails if side == "tail" else self.model.score_heads
        entity, relation = torch.from_numpy(given), torch.from_numpy(relations)
        given_rows = {name: table[entity] for name, table in self.entities.items()}
        relation_rows = {name: table[relation] for name, table in self.relations.items()}
        scores: NDArray[np.float32] = score(given_rows, relation_rows, self.candidates).numpy()
        return scores


def link_prediction(
    model: Model, triples: TripleRows, known: KnownTriples, memory_mb: int, sampled_from: int
) -> LinkPrediction:
    """Rank both sides of the triples and summarise.

    Args:
        model: The model; every entity row is a candidate.
        triples: What to rank.
        known: All positive triples, used to filter the candidates.
        memory_mb: Bound on one block of scores.
        sampled_from: Number of triples that `triples` were drawn from.

    Raises:
        UndefinedMetricError: There is nothing to rank.
        TrainingError: A score is NaN.
    """
    count = triples.shape[1]
    if count == 0:
        raise UndefinedMetricError("link prediction needs at least one held-out triple")
    vectors = _Vectors.of(model)
    both = np.stack([_ranks(vectors, triples, known, side, memory_mb) for side in ("head", "tail")])
    reciprocal = (1.0 / both).mean(axis=0)
    return LinkPrediction(
        mr=float(both.mean()),
        mrr=float(reciprocal.mean()),
        hits={k: float((both <= k).mean()) for k in HITS},
        triples=count,
        sampled_from=sampled_from,
        mrr_error=_standard_error(reciprocal, sampled_from),
        hits_at_10_error=_standard_error((both <= 10).mean(axis=0), sampled_from),
    )


def _standard_error(values: NDArray[np.float64], sampled_from: int) -> float:
    """Of the mean of a sample; its triples are what was drawn, so both sides count as one."""
    if len(values) == sampled_from:
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")


def ranks(
    model: Model, triples: TripleRows, known: KnownTriples, side: Side, memory_mb: int
) -> NDArray[np.float64]:
    """Filtered rank of the true entity on one side of each triple.

    Ties count as the mean of the best and the worst rank. The scores of a block of queries stay
    within `memory_mb`.
    """
    return _ranks(_Vectors.of(model), triples, known, side, memory_mb)


def _ranks(
    vectors: _Vectors, triples: TripleRows, known: KnownTriples, side: Side, memory_mb: int
) -> NDArray[np.float64]:
    table = vectors.entities["entity"]
    block = max(1, min(_QUERIES, memory_mb * 2**20 // (len(table) * table.itemsize)))
    # Triples of one relation together: some models look at all entities anew for each relation.
    order = np.argsort(triples[1], kind="stable")
    heads, relations, tails = triples[:, order]
    given, true = (heads, tails) if side == "tail" else (tails, heads)
    result = np.empty(len(order))
    for start in range(0, len(order), block):
        part = slice(start, start + block)
        scores = vectors.scores(side, given[part], relations[part])
        answers = known.answers(side, given[part], relations[part])
        found, numbers = _count_ranks(scores, true[part], *answers)
        if not numbers:
            raise TrainingError("a score is NaN: the vectors cannot be used")
        result[order[part]] = found
    return result


def _distinct(keys: Keys) -> Keys:
    """The keys sorted, each once; they are used up."""
    keys.sort()
    distinct: Keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
    return distinct


@compiled()
def _count_ranks(scores: Any, true: Any, queries: Any, entities: Any) -> Any:
    """Filtered ranks of a block, and whether all scores are numbers.

    The true score comes from the same matrix as its rivals', so equal vectors tie exactly.
    """
    better, equal = np.zeros(len(true), np.int64), np.zeros(len(true), np.int64)
    numbers = True
    for query in range(len(true)):
        row, own = scores[query], scores[query, true[query]]
        above, level, unequal = 0, 0, 0
        for i in range(len(row)):
            above += row[i] > own
            level += row[i] == own
            unequal += row[i] != row[i]  # true only for NaN
        better[query], equal[query] = above, level
        numbers = numbers and unequal == 0
    for at in range(len(queries)):  # the known answers, the true one among them, do not count
        query = queries[at]
        score, own = scores[query, entities[at]], scores[query, true[query]]
        better[query] -= score > own
        equal[query] -= score == own
    return 1 + better + equal / 2, numbers
