"""The paper's update (alg. TDSM_online): initial vectors, change-specific and general epochs."""

from __future__ import annotations

import numpy as np

from kgsync.common.cost import Cost
from kgsync.graph.change import ChangeSet
from kgsync.graph.living import Living, TripleRows
from kgsync.graph.split import Part
from kgsync.graph.terms import Ids
from kgsync.models.base import Model
from kgsync.training.backends import trainer_for
from kgsync.training.problem import Problem
from kgsync.training.progress import (
    BestState,
    Observe,
    Plateau,
    Progress,
    TrainingRun,
    no_observer,
    no_progress,
)
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.starts import initialize
from kgsync.training.updates import UpdateTask

__all__ = ["change_epoch_numbers", "refresh", "update"]


def update(task: UpdateTask) -> TrainingRun:
    """Give new elements their initial vectors, then refresh all vectors."""
    progress = task.phases.listener.progress
    with task.phases("start vectors"):
        initialize(task.model, task.before, task.problem, task.cost, progress)
    with task.phases("update"):
        return refresh(task.model, task.change, task.problem, task.cost, progress, task.observe)


def refresh(
    model: Model,
    change: ChangeSet,
    problem: Problem,
    cost: Cost,
    progress: Progress = no_progress,
    observe: Observe = no_observer,
) -> TrainingRun:
    """Refresh a model whose new elements have their initial vectors, in place.

    Args:
        model: The model over the new version's rows.
        change: What changed.
        problem: The new version.
        cost: Counters to increase.
        progress: Told about every epoch.
        observe: Sees the model at every validation.

    Returns:
        What happened; the model is left in its best validated state.
    """
    settings = problem.settings.update
    rates = problem.settings.rates()
    random = problem.seeds.numpy("refreshing")
    trainer = trainer_for(model, problem, random, cost)
    corrected = CorrectedSampler(problem.train, len(problem.living.relations), random)
    added, deleted = _changed_training_triples(change, problem)
    run = TrainingRun()
    plateau = Plateau()
    best = BestState(model, settings.patience, run, observe)
    every = settings.validate_every if len(problem.split.validation) else 0
    total = settings.change_epochs + settings.general_epochs
    change_specific = change_epoch_numbers(settings.change_epochs, settings.general_epochs)
    for epoch in range(1, total + 1):
        if epoch in change_specific:
            trainer.change_epoch(added, deleted, corrected, rates.change * plateau.scale)
        else:
            run.final_loss = trainer.general_epoch(rates.general * plateau.scale)
            plateau.see(run.final_loss)
        run.epochs = epoch
        progress("updating", epoch, total)
        if every and epoch % every == 0 and best.see(epoch, problem.validate(model)):
            break
    best.restore()
    return run


def change_epoch_numbers(change_epochs: int, general_epochs: int) -> set[int]:
    """The paper's uniform_mix: which epochs, counted from 1, are change-specific."""
    total = change_epochs + general_epochs
    # The middle of each of `change_epochs` equal stretches: 5, 15, ..., 195 for 20 of 200.
    return {-(-(2 * i + 1) * total // (2 * change_epochs)) for i in range(change_epochs)}


def _changed_training_triples(change: ChangeSet, problem: Problem) -> tuple[TripleRows, TripleRows]:
    """ΔE_S⁺ and that part of ΔE_S⁻ none of whose terms was deleted, as rows."""
    added, deleted = change.part(Part.TRAIN)
    living = problem.living
    if problem.settings.update.skip_new_elements:
        old = Living(
            _without(living.entities, change.added_entities),
            _without(living.relations, change.added_relations),
        )
        added = added.where(old.all_alive(added))
    return living.rows(added), living.rows(deleted.where(living.all_alive(deleted)))


def _without(ids: Ids, removed: Ids) -> Ids:
    return np.setdiff1d(ids, removed, assume_unique=True)
