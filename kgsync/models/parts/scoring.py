"""Scores for one query at a time from numpy tables, without torch."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kgsync.models.base import Model

__all__ = ["Scorer"]

Scores = NDArray[np.floating[Any]]


class Scorer:
    """Scores by rows; candidates with equal vectors get equal scores."""

    def __init__(self, model: Model) -> None:
        """Score with a model whose tables are numpy arrays."""
        self._model = model

    def score(self, head: int, relation: int, tail: int) -> float:
        """f_r(h, t): the same number as among all tails."""
        return float(self.tails(head, relation, slice(tail, tail + 1))[0])

    def tails(self, head: int, relation: int, candidates: slice = slice(None)) -> Scores:
        """The score of every candidate as the tail."""
        model = self._model
        entity = model.rows("entity", slice(head, head + 1))
        predicate = model.rows("relation", slice(relation, relation + 1))
        found = model.score_tails(entity, predicate, model.rows("entity", candidates))
        return cast("Scores", found[0])

    def heads(self, tail: int, relation: int, candidates: slice = slice(None)) -> Scores:
        """The score of every candidate as the head."""
        model = self._model
        entity = model.rows("entity", slice(tail, tail + 1))
        predicate = model.rows("relation", slice(relation, relation + 1))
        found = model.score_heads(entity, predicate, model.rows("entity", candidates))
        return cast("Scores", found[0])
