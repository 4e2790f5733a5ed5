"""The strategy that suits the change: local, wide, or retraining.

A small change is learned locally, and a large one by moving all vectors; in between, locally unless
that takes far more work. If hardly anything is left of the version before, vectors are retrained.
"""

from __future__ import annotations

from kgsync.graph.change import ChangeSet
from kgsync.training.kept import Kept
from kgsync.training.problem import Problem
from kgsync.training.progress import Choice, TrainingRun
from kgsync.training.updates import UpdateTask, predicted_scores, strategy

__all__ = ["choose", "update"]

_SMALL, _LARGE, _REPLACED = 0.1, 0.2, 0.8
"""Changed training triples as a share of those of both versions: local up to the first, never local
from the second, and retraining from the third."""
_PREFERENCE = 1.5
"""Work that a local update may take, as a share of that of a wide one: it moves fewer vectors."""


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
    names = ["local", "wide", "retrain"] if share < _LARGE else ["wide", "retrain"]
    predicted = {name: predicted_scores(name)(change, problem, kept) for name in names}
    in_words = f"{share:.2%} of training triples changed"
    if share <= _SMALL:
        return Choice("local", in_words, predicted)
    if share >= _LARGE:
        return Choice("wide" if share < _REPLACED else "retrain", in_words, predicted)
    if predicted["local"] <= _PREFERENCE * predicted["wide"]:
        return Choice("local", f"{in_words}; fewer vectors move", predicted)
    return Choice("wide", f"{in_words}; far less work", predicted)
