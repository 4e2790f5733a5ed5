"""How well triples are learned: the mean loss of pairs, without a gradient."""

from __future__ import annotations

import numpy as np
import torch

from kgsync.common.cost import Cost
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model
from kgsync.models.parts.arrays import Array

__all__ = ["mean_loss"]


def mean_loss(model: Model, positive: TripleRows, negative: TripleRows, cost: Cost) -> float:
    """The loss per pair; a pair whose negative has head -1 is left out.

    Args:
        model: The model.
        positive: Positives.
        negative: Their negatives.
        cost: Counters to increase.
    """
    possible = negative[0] >= 0
    positive, negative = positive[:, possible], negative[:, possible]
    pairs = positive.shape[1]
    if not pairs:
        return 0.0
    cost.score_evaluations += 2 * pairs
    with torch.no_grad():
        scores = [_scores(model, triples) for triples in (positive, negative)]
        total = float(model.loss.of_batch(*scores))
    return total / pairs if model.loss_is_sum else total


def _scores(model: Model, triples: TripleRows) -> Array:
    head, relation, tail = (torch.from_numpy(np.ascontiguousarray(rows)) for rows in triples)
    return model.score(
        model.rows("entity", head), model.rows("relation", relation), model.rows("entity", tail)
    )
