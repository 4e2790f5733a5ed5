"""What a model has learned and forgotten, as reports say it, and its quality on test triples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgsync.evaluation.counting import SIDES
from kgsync.evaluation.learned import learned
from kgsync.evaluation.ranking import ranks
from kgsync.graph.active import Active, TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.graph.split import persistent_sample
from kgsync.models.base import Model
from kgsync.training.problem import Problem

__all__ = ["measured"]

_MEMORY = 256
_GROUP = 2000
"""Triples of each group around the change."""


def measured(
    model: Model, problem: Problem, before: Active | None, change: ChangeSet | None, size: int
) -> dict[str, float]:
    """Mean reciprocal ranks of at most `size` test triples, and of groups around the change."""
    active, terms = problem.active, problem.terms
    test = active.rows(persistent_sample(problem.split.test, terms, size))
    both = _reciprocal(model, problem, test)
    found = {
        "mrr": float(both.mean()),
        "mrr_head": float(both[0].mean()),
        "mrr_tail": float(both[1].mean()),
        "mrr_others": float(both[~_most_frequent(test)].mean()),
        "hits_at_10": float((both >= 0.1).mean()),
        "tested": test.shape[1],
    }
    if change is None or before is None:
        return found
    groups = learned(model, problem, change, sample=_GROUP, candidates=0, memory_mb=_MEMORY).groups
    for name in ("near", "added", "unchanged", "deleted", "unseen"):
        found[f"{name}_triples"] = groups[name].triples if name in groups else 0
        if name in groups:
            found[name] = groups[name].mrr
    return found


def _reciprocal(model: Model, problem: Problem, triples: TripleRows) -> NDArray[np.float64]:
    return 1 / np.stack([ranks(model, triples, problem.known, side, _MEMORY) for side in SIDES])


def _most_frequent(test: TripleRows) -> NDArray[np.bool_]:
    """Which (side, triple) ask the query that is asked most often."""
    mask = np.zeros((2, test.shape[1]), bool)
    best = (0, 0, np.zeros(0, np.int64))
    for side, given in ((0, test[2]), (1, test[0])):
        key = test[1] * (int(test.max(initial=0)) + 1) + given
        values, counts = np.unique(key, return_counts=True)
        if counts.max(initial=0) > best[0]:
            best = int(counts.max()), side, np.flatnonzero(key == values[counts.argmax()])
    mask[best[1], best[2]] = True
    return mask
