"""How well triples are learned: the mean loss of pairs, without a gradient."""

from __future__ import annotations

import numpy as np
import torch

from kgsync.common.cost import Cost
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model
from kgsync.models.parts.arrays import Array
from kgsync.training.problem import Problem
from kgsync.training.torch_backend.pretraining import triples_at_a_time

__all__ = ["UNCHANGED_LOSS", "UNSEEN_LOSS", "loss_conditions", "mean_loss"]

UNCHANGED_LOSS, UNSEEN_LOSS = "unchanged_loss", "unseen_loss"
"""Names of the numbers that updates keep: the losses of training triples and of others."""


def mean_loss(model: Model, positive: TripleRows, negative: TripleRows, cost: Cost) -> float:
    """The loss per pair, in blocks; a pair whose negative has head -1 is left out.

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
    block = triples_at_a_time(model)
    total = 0.0
    for start in range(0, pairs, block):
        some = [triples[:, start : start + block] for triples in (positive, negative)]
        with torch.no_grad():
            loss = float(model.loss.of_batch(*(_scores(model, triples) for triples in some)))
        total += loss * (1 if model.loss_is_sum else some[0].shape[1])
    return float(total / pairs)


def loss_conditions(problem: Problem) -> tuple[float, ...]:
    """The settings that losses depend on: one measured with others cannot be compared."""
    settings = problem.settings
    return settings.model.margin, float(settings.training.negative_sampling != "uniform")


def _scores(model: Model, triples: TripleRows) -> Array:
    head, relation, tail = (torch.from_numpy(np.ascontiguousarray(rows)) for rows in triples)
    return model.score(
        model.rows("entity", head), model.rows("relation", relation), model.rows("entity", tail)
    )
