"""All vectors are trained anew, then aligned with the old ones, so that consumers keep working.

It costs as much as training from scratch, whatever the change.
"""

from __future__ import annotations

from kgsync.graph.change import ChangeSet
from kgsync.training.kept import Kept
from kgsync.training.problem import Problem
from kgsync.training.progress import TrainingRun
from kgsync.training.retraining import retrain_aligned
from kgsync.training.updates import UpdateTask
from kgsync.training.work import scores_of_retraining

__all__ = ["predicted_scores", "update"]


def predicted_scores(_: ChangeSet, problem: Problem, kept: Kept) -> int:
    """The score evaluations of an update: those of the last training from scratch, per triple."""
    return scores_of_retraining(problem, kept)


def update(task: UpdateTask) -> TrainingRun:
    """Retrain and align."""
    return retrain_aligned(task)
