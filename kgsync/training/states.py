"""The optimiser's states of a model that is updated: carried over, or estimated."""

from __future__ import annotations

import torch

from kgsync.common.cost import Cost
from kgsync.graph.active import Active, shared_rows
from kgsync.models.base import Model, Rows
from kgsync.training.backends import trainer_for
from kgsync.training.kept import Kept
from kgsync.training.problem import Problem
from kgsync.training.row_copies import copy_rows
from kgsync.training.torch_backend.optimizers import fresh_states

__all__ = ["carried_states"]

_EPOCHS = 100
"""Epochs that sums are estimated for if they were not kept."""


def carried_states(model: Model, before: Active, problem: Problem, kept: Kept, cost: Cost) -> Rows:
    """The states on the rows of the new version; those of new elements are fresh.

    If they were not kept, as in the state of an earlier release, they are estimated: what an epoch
    over all triples adds, times a hundred. With fresh ones vectors would move too far.

    Args:
        model: The model, on the rows of the new version.
        before: The elements of the old version.
        problem: The new version.
        kept: What the update before has left.
        cost: Counters to increase.
    """
    states = fresh_states(model)
    if not states:
        return states
    old = kept.states()
    rows = {
        "entity": shared_rows(before.entities, problem.active.entities),
        "relation": shared_rows(before.relations, problem.active.relations),
    }
    if not old:
        estimated = {name: state.clone() for name, state in states.items()}
        random = problem.seeds.numpy("states")
        trainer_for(model, problem, random, cost, estimated).general_epoch(0.0)
    for name, spec in model.layout(model.settings).items():
        here, there = rows[spec.kind]
        if old:
            copy_rows(states[name], there, torch.from_numpy(old[name]), here)
        else:
            copy_rows(states[name], there, estimated[name] * _EPOCHS, there)
    return states
