"""Only vectors that the change concerns move, so that an update costs what changed.

Rows whose triples have changed a lot are trained on all of them, others that the change touches on
a sample, until the added triples are learned as well as the others are; then the rate falls. The
deleted triples are unlearned on the way. All other rows stay as they are, to the bit.
"""

from __future__ import annotations

import numpy as np
import torch

from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.models.base import Kind, Model
from kgsync.training.backends import pair_trainer_for
from kgsync.training.initial.vectors import initialize
from kgsync.training.kept import Kept
from kgsync.training.moving import PairSteps
from kgsync.training.problem import Problem
from kgsync.training.progress import NOT_FINITE, TrainingRun
from kgsync.training.states import carried_states
from kgsync.training.updates import UpdateTask
from kgsync.training.updates.parts.amounts import amounts_for
from kgsync.training.updates.parts.concern import Concern, concern_of
from kgsync.training.updates.parts.damping import DampedRows
from kgsync.training.updates.parts.forgetting import Forgetting
from kgsync.training.updates.parts.lengths import LimitedLengths
from kgsync.training.updates.parts.losses import UNCHANGED_LOSS, loss_conditions, mean_loss
from kgsync.training.updates.parts.pairs import LocalPairs, pairs_per_epoch

__all__ = ["predicted_scores", "update"]

_LEAST, _MOST = 10, 60
"""Epochs at the full rate: at least, at most."""
_EVERY = 5
"""Epochs between looks at how well the added triples are learned."""
_FALLING = 15
"""Epochs with a falling rate, besides half of those before."""
_END = 0.02
"""Share of the rate at the end."""
_MEASURED = 20_000
"""Triples that show how well added ones are learned, and unchanged ones; for these it is measured
once, then kept."""
_NEGATIVES = 4
"""Negatives per positive in these measurements."""
_LAST_EPOCHS = "local_epochs"


def update(task: UpdateTask) -> TrainingRun:
    """Move the rows that the change concerns."""
    model, problem, progress = task.model, task.problem, task.phases.listener.progress
    with task.phases("initial vectors"):
        initialize(model, task.before, problem, task.cost, progress)
    with task.phases("update"):
        concern = concern_of(task.change, problem, task.kept)
        run = TrainingRun(kept=concern.kept)
        moving = concern.moving
        run.touched = {
            "entity": np.flatnonzero(moving.entities),
            "relation": np.flatnonzero(moving.relations),
        }
        if moving.entities.any() or moving.relations.any():
            _Fit(task, concern, run).run()
            _finish(model, concern)
        elif task.kept.states():  # rows may have come or gone all the same
            run.kept = run.kept.with_states(
                carried_states(model, task.before, problem, task.kept, task.cost)
            )
    return run


def predicted_scores(change: ChangeSet, problem: Problem, kept: Kept) -> int:
    """The score evaluations of an update, if it takes as many epochs as the last one."""
    epochs = kept.number(_LAST_EPOCHS) or _MOST + _FALLING  # a guess: it may be half or more
    concern = concern_of(change, problem, kept)
    pairs = epochs * pairs_per_epoch(concern, problem)
    if kept.number(UNCHANGED_LOSS, *loss_conditions(problem)) is None:
        pairs += _NEGATIVES * min(_MEASURED, len(problem.training))
    return round(2 * pairs)


class _Fit:
    """Epochs at the full rate until the added triples are learned, then with a falling one."""

    def __init__(self, task: UpdateTask, concern: Concern, run: TrainingRun) -> None:
        problem = task.problem
        self._task, self._concern, self._run = task, concern, run
        self._random = problem.seeds.numpy("local update")
        self._pairs = LocalPairs(problem, concern, self._random)
        amounts = amounts_for(problem)
        self._forgetting = Forgetting(
            task.model, problem, task.change, self._random, amounts.unlearned
        )
        self._rate = problem.rates.training * amounts.rate
        self._steps = _steps(problem, concern)
        self._states = carried_states(task.model, task.before, problem, task.kept, task.cost)
        self._damped = DampedRows(task.model, concern)
        self._lengths = LimitedLengths(task.model, concern, amounts.longest, self._random)
        self._trainer = pair_trainer_for(
            task.model,
            concern.moving,
            self._steps,
            problem.settings.run,
            task.cost,
            self._states,
        )

    def run(self) -> None:
        cost, run = self._task.cost, self._run
        run.kept = self._forgetting.recall_unseen(run.kept, cost)
        wanted = self._loss_of_unchanged()
        if wanted is not None:
            conditions = loss_conditions(self._task.problem)
            run.kept = run.kept.with_number(UNCHANGED_LOSS, wanted, *conditions)
        while run.epochs < _MOST:
            self._epoch(1.0)
            if run.epochs >= _LEAST and run.epochs % _EVERY == 0 and self._is_learned(wanted):
                break
        falling = _FALLING + run.epochs // 2
        for number in range(1, falling + 1):
            self._epoch(1 + (_END - 1) * number / falling)
        run.kept = run.kept.with_states(self._states).with_number(_LAST_EPOCHS, run.epochs)

    def _epoch(self, share: float) -> None:
        pairs = self._pairs.epoch(self._forgetting)
        with self._damped:
            self._run.final_loss = self._trainer.run(*pairs, self._rate * share)
        self._lengths.shorten()
        self._run.epochs += 1
        self._task.phases.listener.progress("updating", self._run.epochs, 0)
        if self._run.epochs % _EVERY == 0:
            self._forgetting.look(self._task.cost)

    def _is_learned(self, wanted: float | None) -> bool:
        count = self._concern.added.shape[1]
        return not count or (wanted is not None and self._loss_of_added() <= wanted)

    def _loss_of_added(self) -> float:
        added = self._concern.added
        if added.shape[1] > _MEASURED:
            added = added[:, self._random.choice(added.shape[1], _MEASURED, replace=False)]
        return self._loss(added)

    def _loss_of_unchanged(self) -> float | None:
        """Measured once; None if nothing is unchanged."""
        known = self._task.kept.number(UNCHANGED_LOSS, *loss_conditions(self._task.problem))
        if known is not None:
            return known
        train = self._task.problem.training
        unchanged = np.delete(np.arange(len(train)), self._pairs.added)
        if not len(unchanged):
            return None
        count = min(_MEASURED, len(unchanged))
        chosen = np.sort(self._random.choice(unchanged, count, replace=False))
        return self._loss(train.take(chosen))

    def _loss(self, triples: TripleRows) -> float:
        """Mean loss of triples against some negatives each."""
        positive = np.tile(triples, _NEGATIVES)
        negative = self._pairs.negatives.draw(positive)
        return mean_loss(self._task.model, positive, negative, self._task.cost)


def _steps(problem: Problem, concern: Concern) -> PairSteps:
    """Batches in which a row that moves occurs about as often as in an epoch over all triples."""
    general = max(1, len(problem.training) // problem.settings.training.batches)
    rows = int(concern.moving.entities.sum())
    return PairSteps(max(1, min(general, rows // 2)), 0.5 / general)


def _finish(model: Model, concern: Concern) -> None:
    """Normalise the rows that moved.

    Raises:
        TrainingError: A vector is not finite.
    """
    moved = {
        "entity": torch.from_numpy(np.flatnonzero(concern.moving.entities)),
        "relation": torch.from_numpy(np.flatnonzero(concern.moving.relations)),
    }
    kinds: tuple[Kind, ...] = ("entity", "relation")
    part = type(model)(
        model.settings,
        {name: rows for kind in kinds for name, rows in model.rows(kind, moved[kind]).items()},
    )
    part.normalize()
    for kind in kinds:
        for name in model.names(kind):
            if not bool(part.tables[name].isfinite().all()):
                raise TrainingError(NOT_FINITE)
            model.tables[name][moved[kind]] = part.tables[name]
