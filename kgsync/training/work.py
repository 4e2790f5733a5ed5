"""How much work training from scratch is: remembered from the last time, or guessed."""

from __future__ import annotations

from kgsync.training.kept import Kept
from kgsync.training.problem import Problem
from kgsync.training.rates import annealing_of

__all__ = ["SCORES_PER_TRIPLE", "remember_training", "scores_of_retraining"]

SCORES_PER_TRIPLE = "training_scores_per_triple"
"""Name of the number that is kept."""
_EPOCHS = 300
"""Epochs that are guessed, if the settings allow so many."""


def remember_training(kept: Kept, scores: int, problem: Problem) -> Kept:
    """Remember the score evaluations that training from scratch took."""
    return kept.with_number(SCORES_PER_TRIPLE, scores / max(1, len(problem.training)))


def scores_of_retraining(problem: Problem, kept: Kept) -> int:
    """The score evaluations that training a version from scratch is predicted to take."""
    per_triple = kept.number(SCORES_PER_TRIPLE)
    if per_triple is None:
        training = problem.settings.training
        per_triple = (
            2
            * min(training.epochs, _EPOCHS)
            * (1 + annealing_of(training, problem.settings.update))
        )
    return round(per_triple * len(problem.training))
