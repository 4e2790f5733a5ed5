"""Ranks among a persistent sample of candidates, so that ranking costs the same on every graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.errors import TrainingError
from kgsync.evaluation.counting import SIDES
from kgsync.evaluation.ranking import KnownTriples, Side
from kgsync.graph.active import TripleRows
from kgsync.graph.hashing import Hashes
from kgsync.graph.split import persistent_rows
from kgsync.models.base import Model, Rows

__all__ = ["Candidates", "ranks_among", "standard_error"]

Ranks = NDArray[np.float64]
"""Shape (2, triples): the rank of the head and that of the tail."""

_QUERIES = 256


@dataclass(frozen=True)
class Candidates:
    """The entities that a true answer is ranked among; the answer itself need not be one."""

    rows: NDArray[np.int64]
    """Ascending."""
    entities: int
    """Number of entities of the version."""

    @classmethod
    def of(cls, hashes: Hashes, size: int) -> Candidates:
        """A sample of entities that persists from version to version.

        Args:
            hashes: For each entity row a number that belongs to its IRI.
            size: How many; 0 takes all.
        """
        return cls(persistent_rows(hashes, size), len(hashes))


def ranks_among(
    model: Model,
    triples: TripleRows,
    known: KnownTriples,
    candidates: Candidates,
    memory_mb: int,
) -> Ranks:
    """Filtered ranks of triples, true ones or not, on both sides.

    The rivals of an answer are the candidates without the known answers and without itself. Ties
    count as the mean of the best and the worst rank.

    Raises:
        TrainingError: A score is NaN.
    """
    return np.stack([_ranks(model, triples, known, candidates, side, memory_mb) for side in SIDES])


def _ranks(
    model: Model,
    triples: TripleRows,
    known: KnownTriples,
    candidates: Candidates,
    side: Side,
    memory_mb: int,
) -> NDArray[np.float64]:
    # Triples of one relation together: some models look at all entities anew for each relation.
    order = np.argsort(triples[1], kind="stable")
    heads, relations, tails = triples[:, order]
    given, true = (heads, tails) if side == "tail" else (tails, heads)
    place = np.full(candidates.entities, -1)
    place[candidates.rows] = np.arange(len(candidates.rows))
    block = max(1, min(_QUERIES, memory_mb * 2**20 // (4 * (len(candidates.rows) + _QUERIES))))
    # Asked for all queries at once: it may take a pass over all edges.
    query, answers = known.answers(side, given, relations)
    result = np.empty(len(order))
    for start in range(0, len(order), block):
        part = slice(start, start + block)
        # Answers that are no candidates are scored in the same product, so equal vectors tie.
        others = np.unique(true[part][place[true[part]] < 0])
        place[others] = len(candidates.rows) + np.arange(len(others))
        columns = _rows(model, np.concatenate([candidates.rows, others]))
        scores = _scores(model, side, given[part], relations[part], columns)
        own_place = place[true[part]]
        own = scores[np.arange(len(scores)), own_place][:, None]
        if np.isnan(scores).any():
            raise TrainingError("a score is NaN: the vectors cannot be used")
        first, last = np.searchsorted(query, (start, start + block))  # they are ascending
        left_out = place[answers[first:last]]
        is_scored = left_out >= 0
        scores[query[first:last][is_scored] - start, left_out[is_scored]] = -np.inf
        scores[np.arange(len(scores)), own_place] = -np.inf
        rivals = scores[:, : len(candidates.rows)]
        better, equal = (rivals > own).sum(axis=1), (rivals == own).sum(axis=1)
        result[order[part]] = 1 + better + equal / 2
        place[others] = -1
    return result


def _rows(model: Model, rows: NDArray[np.int64]) -> Rows:
    return model.rows("entity", torch.from_numpy(rows))


def _scores(
    model: Model, side: Side, given: NDArray[np.int64], relations: NDArray[np.int64], columns: Rows
) -> NDArray[np.float32]:
    score = model.score_tails if side == "tail" else model.score_heads
    rows = model.rows("relation", torch.from_numpy(relations))
    scores: NDArray[np.float32] = score(_rows(model, given), rows, columns).numpy()
    return scores


def standard_error(values: NDArray[np.float64], sampled_from: int) -> float:
    """Of the mean of a sample; 0 if it is everything, infinite from one of several."""
    if len(values) >= sampled_from:
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")
