"""How much of everything an epoch of an update has: this depends on the loss.

Where a pair whose scores are far enough apart pulls no more, as with a margin, doing more does no
harm and helps the few rows that move against all those that stay. Elsewhere every pair pulls for
ever: small steps, and a limit to the length of vectors, spoil less of what the rows say about
triples that were never seen.
"""

from __future__ import annotations

from typing import NamedTuple

from kgsync.models import MODELS
from kgsync.models.losses import LOSSES
from kgsync.training.problem import Problem

__all__ = ["Amounts", "Unlearned", "WideAmounts", "amounts_for", "wide_amounts_for"]


class Unlearned(NamedTuple):
    """Shares of the deleted triples that an epoch unlearns."""

    minor: float
    """Of those that were a small share of the triples of their entities."""
    major: float
    """Of those that were a large share of the triples of an entity."""


class Amounts(NamedTuple):
    """What an epoch has."""

    rate: float
    """Share of the learning rate of training from scratch."""
    repeats: int
    """How often an added triple comes."""
    reverse: int
    """Least number of negatives in which an entity that moves is the false answer."""
    unlearned: Unlearned
    """How many deleted triples are unlearned."""
    longest: float | None
    """How long an entity may become, as a share of the usual length; None for no limit."""


class WideAmounts(NamedTuple):
    """What an epoch has in which all vectors move."""

    repeats: int
    """How often an added triple comes."""
    unlearned: Unlearned
    """How many deleted triples are unlearned."""


_WITH_MARGIN = Amounts(rate=1.0, repeats=8, reverse=8, unlearned=Unlearned(0.1, 1.0), longest=None)
_WITHOUT = Amounts(rate=0.4, repeats=6, reverse=0, unlearned=Unlearned(1.0, 1.0), longest=0.9)
_WIDE_WITH_MARGIN = WideAmounts(repeats=4, unlearned=Unlearned(0.1, 0.1))
_WIDE_WITHOUT = WideAmounts(repeats=2, unlearned=Unlearned(0.03, 0.03))


def amounts_for(problem: Problem) -> Amounts:
    """The amounts that suit the loss and the model."""
    amounts = _WITH_MARGIN if _has_margin(problem) else _WITHOUT
    is_limited = MODELS[problem.settings.model.name].longer_is_likelier
    return amounts if is_limited else amounts._replace(longest=None)


def wide_amounts_for(problem: Problem) -> WideAmounts:
    """The same where all vectors move."""
    return _WIDE_WITH_MARGIN if _has_margin(problem) else _WIDE_WITHOUT


def _has_margin(problem: Problem) -> bool:
    return LOSSES[MODELS[problem.settings.model.name].loss].has_margin
