"""How much of everything an epoch of an update has: this depends on the loss.

Where a pair whose scores are far enough apart pulls no more, as with a margin, doing more does no
harm and helps the few rows that move against all those that stay. Elsewhere every pair pulls for
ever, and rows that see more than their share of pairs fit their own triples at the cost of those
that were never seen.
"""

from __future__ import annotations

from typing import NamedTuple

from kgsync.models import MODELS
from kgsync.models.losses import LOSSES
from kgsync.training.problem import Problem

__all__ = ["Amounts", "amounts_for"]


class Amounts(NamedTuple):
    """What an epoch has."""

    repeats: int
    """How often an added triple comes."""
    reverse: int
    """Least number of negatives in which an entity that moves is the false answer."""
    unlearned: float
    """Share of the deleted triples that are unlearned."""
    wide_repeats: int
    """How often an added triple comes where all vectors move."""
    wide_unlearned: float
    """Share of the deleted triples that are unlearned there."""


_WITH_MARGIN = Amounts(8, 8, 0.1, wide_repeats=4, wide_unlearned=0.1)
_WITHOUT = Amounts(2, 0, 0.5, wide_repeats=2, wide_unlearned=0.03)


def amounts_for(problem: Problem) -> Amounts:
    """The amounts that suit the loss."""
    loss = LOSSES[MODELS[problem.settings.model.name].loss]
    return _WITH_MARGIN if loss.has_margin else _WITHOUT
