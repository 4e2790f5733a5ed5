"""All vectors move, at the full rate, and what has changed counts more: for large changes.

Vectors that were trained on a small graph to the end do not learn a larger one as well as fresh
ones do. So all of them are first made shorter, down to a half, which keeps what they say and makes
room for what is new (compare Ash and Adams, On Warm-Starting Neural Network Training, 2020). Then
come epochs over all training triples at the full rate, in which added ones come several times and
some deleted ones are unlearned; at the end the rate falls. It takes at most a third of the work
that training anew is predicted to take.
"""

from __future__ import annotations

import numpy as np
import torch

from kgsync.graph.change import ChangeSet
from kgsync.training.backends import pair_trainer_for, trainer_for
from kgsync.training.initial.vectors import initialize
from kgsync.training.kept import Kept
from kgsync.training.moving import PairSteps, with_training_triples
from kgsync.training.problem import Problem
from kgsync.training.progress import BestState, TrainingRun
from kgsync.training.states import carried_states
from kgsync.training.updates import UpdateTask
from kgsync.training.updates.parts.amounts import wide_amounts_for
from kgsync.training.updates.parts.forgetting import Forgetting
from kgsync.training.updates.parts.losses import UNCHANGED_LOSS, UNSEEN_LOSS
from kgsync.training.work import scores_of_retraining

__all__ = ["predicted_scores", "update"]

_EPOCHS = 240
"""Epochs at the most."""
_SHARE = 0.3
"""Work at the most, as a share of that of retraining."""
_SHRINKING, _LEFT = 2.0, 0.5
"""How much shorter vectors become before training, for each share of the triples that has changed,
and what is left of them at least."""
_FALLING = 0.25
"""Share of the epochs in which the rate falls."""
_REMEMBERED = 0.1
"""Share of the optimiser's sums that are left: with all of them, steps would be too small for all
that there is to learn."""
_EVERY = 5
"""Epochs between looks at the deleted triples."""


def update(task: UpdateTask) -> TrainingRun:
    """Move all rows."""
    progress = task.phases.listener.progress
    with task.phases("initial vectors"):
        initialize(task.model, task.before, task.problem, task.cost, progress)
    with task.phases("update"):
        return _train(task)


def predicted_scores(change: ChangeSet, problem: Problem, kept: Kept) -> int:
    """The score evaluations of an update."""
    pairs = _pairs_per_epoch(change, problem)
    return int(2 * pairs * _epochs(pairs, problem, kept))


def _pairs_per_epoch(change: ChangeSet, problem: Problem) -> float:
    amounts, (added, deleted) = wide_amounts_for(problem), problem.changed(change)
    repeated = (amounts.repeats - 1) * int(added.shape[1])
    return len(problem.training) + repeated + amounts.unlearned.major * int(deleted.shape[1])


def _epochs(pairs: float, problem: Problem, kept: Kept) -> int:
    """How many epochs are taken: bounded by their number and by their work."""
    most = _SHARE * scores_of_retraining(problem, kept)
    return max(1, min(_EPOCHS, round(most / (2 * max(1, pairs)))))


def _train(task: UpdateTask) -> TrainingRun:
    model, problem, run = task.model, task.problem, TrainingRun()
    train, rate = problem.train, problem.rates.training
    if not train.shape[1] and not task.kept.states():
        return TrainingRun(kept=task.kept)
    carried = carried_states(model, task.before, problem, task.kept, task.cost)
    if not train.shape[1]:
        return TrainingRun(kept=task.kept.with_states(carried))
    random, amounts = problem.seeds.numpy("wide update"), wide_amounts_for(problem)
    added, deleted = problem.changed(task.change)
    states = {name: state.mul_(_REMEMBERED) for name, state in carried.items()}
    repeated = np.concatenate([train, np.tile(added, amounts.repeats - 1)], axis=1)
    trainer = trainer_for(model, problem, random, task.cost, states, triples=repeated)
    sizes = model.sizes["entity"], model.sizes["relation"]
    moving = with_training_triples(train, *sizes)
    left = max(_LEFT, 1 - _SHRINKING * problem.changed_share(task.change))
    model.shrink(left, torch.from_numpy(moving.entities), torch.from_numpy(moving.relations))
    batch = max(1, train.shape[1] // problem.settings.training.batches)
    unlearner = pair_trainer_for(
        model,
        moving,
        PairSteps(max(1, min(batch, deleted.shape[1] // 20)), 0.5 / batch),
        problem.settings.run,
        task.cost,
        states,
    )
    forgetting = Forgetting(model, problem, task.change, random, amounts.unlearned)
    epochs = _epochs(_pairs_per_epoch(task.change, problem), problem, task.kept)
    last = max(1, round(_FALLING * epochs))
    for epoch in range(1, epochs + 1):
        falling = max(0, epoch - epochs + last) / last
        scaled = rate * (1 - falling * (1 - 1 / last))
        run.final_loss = trainer.general_epoch(scaled)
        unlearner.run(*forgetting.pairs(), scaled)
        run.epochs = epoch
        if epoch % _EVERY == 0:
            forgetting.look_at_both(task.cost)
        task.phases.listener.progress("updating", epoch, epochs)
    BestState(model, 1, run).restore()
    none = (np.zeros(size, np.int64) for size in sizes)  # all rows have been trained
    kept = task.kept.without(UNCHANGED_LOSS, UNSEEN_LOSS)  # all triples have other scores now
    run.kept = kept.with_debts(problem.active, *none).with_states(states)
    return run
