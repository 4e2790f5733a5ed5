"""Ranks among a persistent sample of candidates, so that ranking costs the same on every graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.evaluation.counting import SIDES, compared
from kgsync.evaluation.ranking import KnownTriples, Side
from kgsync.graph.active import TripleRows
from kgsync.graph.hashing import Hashes
from kgsync.graph.snapshot import places
from kgsync.graph.split import persistent_rows
from kgsync.models.base import Model, Rows

__all__ = ["Candidates", "ranks_among"]

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
    rows, size = candidates.rows, len(candidates.rows)
    block = max(1, min(_QUERIES, memory_mb * 2**20 // (4 * (size + _QUERIES))))
    # Asked for all queries at once: it may take a pass over all edges.
    answers = known.find(side, given, relations).among(rows)
    pairs, at = answers.numbers(given, relations), places(rows, true)
    # An answer is not its own rival, even if its triple is not a positive one.
    counted = (at >= 0) & ~answers.contain(pairs, np.maximum(at, 0))
    # Gathered once; the answers of a block that are no candidates come after them.
    columns = _with_space(_rows(model, rows), min(block, candidates.entities - size))
    result = np.empty(len(order))
    for start in range(0, len(order), block):
        part = slice(start, start + block)
        # Answers that are no candidates are scored in the same product, so equal vectors tie.
        own_place, missing = at[part].copy(), at[part] < 0
        others, place = np.unique(true[part][missing], return_inverse=True)
        own_place[missing] = size + place
        for name, vectors in _rows(model, others).items():
            columns[name][size : size + len(others)] = vectors
        scored = {name: table[: size + len(others)] for name, table in columns.items()}
        scores = _scores(model, side, given[part], relations[part], scored)
        own = scores[np.arange(len(scores)), own_place]
        better, equal = compared(scores, own, pairs[part], answers, rivals=size)
        result[order[part]] = 1 + better + (equal - counted[part]) / 2
    return result


def _rows(model: Model, rows: NDArray[np.int64]) -> Rows:
    return model.rows("entity", torch.from_numpy(rows))


def _with_space(rows: Rows, more: int) -> Rows:
    """The same with space for a few more."""
    return {
        name: torch.cat([table, table.new_empty(more, table.shape[1])])
        for name, table in rows.items()
    }


def _scores(
    model: Model, side: Side, given: NDArray[np.int64], relations: NDArray[np.int64], columns: Rows
) -> NDArray[np.float32]:
    score = model.score_tails if side == "tail" else model.score_heads
    rows = model.rows("relation", torch.from_numpy(relations))
    scores: NDArray[np.float32] = score(_rows(model, given), rows, columns).numpy()
    return scores
