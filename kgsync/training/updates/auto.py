"""The strategy that suits the change: local, wide, or retraining.

A small change is learned locally, unless retraining is predicted to take less work, and a larger
one by moving all vectors. If hardly anything is left of the version before, they are retrained.
"""

from __future__ import annotations

from kgsync.graph.change import ChangeSet
from kgsync.training.kept import Kept
from kgsync.training.problem import Problem
from kgsync.training.progress import Choice, TrainingRun
from kgsync.training.updates import UpdateTask, predicted_scores, strategy

__all__ = ["choose", "update"]

_SMALL, _REPLACED = 0.07, 0.8
"""Changed training triples as a share of those of both versions: local up to the first, retraining
from the second."""


def update(task: UpdateTask) -> TrainingRun:
    """Choose a strategy and let it update the model."""
    choice = choose(task.change, task.problem, task.kept)
    run = strategy(choice.strategy)(task)
    run.choice = choice
    return run


def choose(change: ChangeSet, problem: Problem, kept: Kept) -> Choice:
    """Choose a strategy by the size of the change and the predicted work.

    Args:
        change: What changed.
        problem: The new version.
        kept: What the updates before have left.
    """
    share = problem.changed_share(change)
    names = ["local", "wide", "retrain"]
    predicted = {name: predicted_scores(name)(change, problem, kept) for name in names}
    in_words = f"{share:.2%} of training triples changed"
    if share >= _REPLACED:
        return Choice("retrain", in_words, predicted)
    if share > _SMALL:
        return Choice("wide", in_words, predicted)
    if predicted["local"] <= predicted["retrain"]:
        return Choice("local", in_words, predicted)
    return Choice("wide", f"{in_words}; local takes too much work", predicted)
