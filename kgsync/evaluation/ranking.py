"""Filtered link prediction: MR, MRR, Hits@k, with exact ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import UndefinedMetricError
from kgsync.evaluation.counting import SIDES, Queries, Vectors, count_all
from kgsync.evaluation.known import KnownTriples, Side
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model

__all__ = [
    "HITS",
    "KnownTriples",
    "LinkPrediction",
    "Side",
    "link_prediction",
    "ranks",
    "standard_error",
    "summary",
]

HITS = (1, 3, 10, 100)


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
    vectors = Vectors.of(model)
    sides = [count_all(vectors, Queries.of(triples, side), known, memory_mb) for side in SIDES]
    return summary(np.stack([counts.ranks for counts in sides]), sampled_from)


def summary(ranks: NDArray[np.float64], sampled_from: int) -> LinkPrediction:
    """The quality that ranks show.

    Args:
        ranks: Shape (2, n): those of the heads and of the tails of triples.
        sampled_from: Number of triples that these were drawn from.

    Raises:
        UndefinedMetricError: There are no ranks.
    """
    count = ranks.shape[1]
    if count == 0:
        raise UndefinedMetricError("link prediction needs at least one held-out triple")
    reciprocal = (1.0 / ranks).mean(axis=0)
    return LinkPrediction(
        mr=float(ranks.mean()),
        mrr=float(reciprocal.mean()),
        hits={k: float((ranks <= k).mean()) for k in HITS},
        triples=count,
        sampled_from=sampled_from,
        mrr_error=standard_error(reciprocal, sampled_from),
        hits_at_10_error=standard_error((ranks <= 10).mean(axis=0), sampled_from),
    )


def standard_error(values: NDArray[np.float64], sampled_from: int) -> float:
    """Of the mean of a sample; 0 if it is everything, infinite from one of several.

    Args:
        values: One per triple, entity or what else was drawn: both sides of a triple count as one.
        sampled_from: How many there were to draw from.
    """
    if len(values) >= sampled_from:
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("inf")


def ranks(
    model: Model, triples: TripleRows, known: KnownTriples, side: Side, memory_mb: int
) -> NDArray[np.float64]:
    """Filtered rank of the true entity on one side of each triple.

    Ties count as the mean of the best and the worst rank. The scores of a block of queries stay
    within `memory_mb`.
    """
    return count_all(Vectors.of(model), Queries.of(triples, side), known, memory_mb).ranks
