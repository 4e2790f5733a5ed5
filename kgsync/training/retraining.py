"""Aligned retraining: annealed, and in the space of the old vectors, as consumers need it."""

from __future__ import annotations

import numpy as np
import torch

from kgsync.models.base import Model, Rows
from kgsync.training.alignment import OldVectors, align
from kgsync.training.initial.vectors import initialize
from kgsync.training.kept import NOTHING_KEPT
from kgsync.training.moving import Moving, with_training_triples
from kgsync.training.offline import Fit
from kgsync.training.problem import Problem
from kgsync.training.progress import Alignment, TrainingRun
from kgsync.training.rates import ANNEALING
from kgsync.training.settings import remembers
from kgsync.training.torch_backend.optimizers import fresh_states
from kgsync.training.updates import UpdateTask
from kgsync.training.work import SCORES_PER_TRIPLE, remember_training

__all__ = ["retrain_aligned"]

_PULL = 0.03
"""Share of the way back to the old vectors that rows move after an epoch at the full rate.

Only for models without a symmetry: it costs some quality, which a symmetry does not.
"""


def retrain_aligned(task: UpdateTask) -> TrainingRun:
    """Retrain a model that was carried over, in place: at the full rate, annealed, and aligned.

    Where the model's symmetry alone finds the old space, this is training from scratch, and then a
    map that changes no score. Otherwise training begins with the old vectors. The change is not
    looked at, so nothing is owed afterwards.
    """
    model, problem = task.model, task.problem
    old = OldVectors.of(model, task.before, problem.active)
    carried, states = model.copy_tables(), fresh_states(model)
    anew, pull = _begin(task), 0.0 if model.info.symmetry else _PULL
    with task.phases("train"):
        spent = task.cost.score_evaluations
        annealing = problem.settings.training.annealing
        run = Fit(
            model,
            problem,
            states,
            ANNEALING if annealing is None else annealing,
            task.cost,
            task.phases.listener.progress,
            task.observe,
            lambda share: old.pull(model, pull * share) if pull else None,
        ).run()
        spent = task.cost.score_evaluations - spent
    with task.phases("align"):
        sizes = model.sizes["entity"], model.sizes["relation"]
        trained = with_training_triples(problem.train, *sizes)
        _put_back(model, carried, trained)
        moved = problem.stability(old.model(model), old.active(problem.active), model)
        method = align(model, old, trained, states)
        steps = [] if anew else ["old vectors as initial vectors"]
        steps += ["pull towards the old vectors"] if pull else []
        run.alignment = Alignment(", ".join([*steps, *([method] if method else [])]), moved)
    if remembers(problem.settings.update.strategy):
        none = (np.zeros(size, np.int64) for size in sizes)  # all rows have been trained
        kept = NOTHING_KEPT.with_debts(problem.active, *none).with_states(states)
        # With the old vectors to begin with, less is spent than from scratch.
        known = task.kept.number(SCORES_PER_TRIPLE)
        if anew:
            kept = remember_training(kept, spent, problem)
        elif known is not None:
            kept = kept.with_number(SCORES_PER_TRIPLE, known)
        run.kept = kept
    return run


def _begin(task: UpdateTask) -> bool:
    """Give the model the vectors that training begins with; returns whether they are random."""
    model, problem = task.model, task.problem
    if not model.info.retrains_anew:
        with task.phases("initial vectors"):
            initialize(model, task.before, problem, task.cost, task.phases.listener.progress)
        return False
    for name, table in _random(model, problem).items():
        model.tables[name].copy_(table)
    return True


def _random(model: Model, problem: Problem) -> Rows:
    """What training from scratch begins with."""
    sizes = model.sizes["entity"], model.sizes["relation"]
    generator = problem.seeds.torch("initial vectors")
    return type(model).random(model.settings, *sizes, generator).tables


def _put_back(model: Model, carried: Rows, trained: Moving) -> None:
    """Give rows without a training triple the vectors that they had in the old space."""
    for name, spec in model.layout(model.settings).items():
        rows = torch.from_numpy(np.flatnonzero(~trained.of(spec.kind)))
        model.tables[name][rows] = carried[name][rows]
