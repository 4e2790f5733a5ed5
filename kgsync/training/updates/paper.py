"""The paper's update (alg. TDSM_online): all vectors move a little, in 200 epochs."""

from __future__ import annotations

import numpy as np

from kgsync.common.cost import Cost
from kgsync.graph.active import TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.models.base import Model
from kgsync.training.backends import trainer_for
from kgsync.training.initial.vectors import initialize
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
from kgsync.training.updates import UpdateTask

__all__ = ["ANNEALS", "REMEMBERS", "change_epoch_numbers", "refresh", "update"]

ANNEALS = False
"""The paper trains at the full rate to the end."""
REMEMBERS = False
"""Every update begins with fresh states."""


def update(task: UpdateTask) -> TrainingRun:
    """Give new elements their initial vectors, then refresh all vectors."""
    progress = task.phases.listener.progress
    with task.phases("initial vectors"):
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
    rates = problem.rates
    random = problem.seeds.numpy("refreshing")
    trainer = trainer_for(model, problem, random, cost)
    corrected = CorrectedSampler(problem.train, len(problem.active.relations), random)
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
    """ΔE_S⁺, without new elements if the settings say so, and ΔE_S⁻, as rows."""
    added, deleted = problem.changed(change)
    if problem.settings.update.skip_new_elements:
        active = problem.active
        new_entity = np.isin(active.entities, change.added_entities)
        new_relation = np.isin(active.relations, change.added_relations)
        heads, relations, tails = added
        added = added[:, ~(new_entity[heads] | new_relation[relations] | new_entity[tails])]
    return added, deleted
