"""Start vectors of new elements: survivors keep theirs, new ones get an average or a random one."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kgsync.graph.living import Living
from kgsync.graph.terms import Ids
from kgsync.models.base import Model
from kgsync.training.problem import Problem

__all__ = ["carry_over"]


def carry_over(model: Model, before: Living, problem: Problem) -> Model:
    """The model for a new version: rows of survivors carried over, new rows started.

    Average start vectors (`ave`) are the mean over the elements that live in both versions; where
    none does, they are random.

    Args:
        model: The old version's model.
        before: The elements its rows belong to.
        problem: The new version.
    """
    settings = problem.settings
    after = problem.living
    sizes = len(after.entities), len(after.relations)
    generator = problem.seeds.torch("start vectors")
    started = type(model).random(settings.model, *sizes, generator)
    for name, spec in model.layout(settings.model).items():
        old, new = (
            (before.entities, after.entities)
            if spec.kind == "entity"
            else (before.relations, after.relations)
        )
        from_rows, to_rows = _shared(old, new)
        table = started.tables[name]
        if len(from_rows) and settings.update.start_vectors == "average":
            table[:] = model.tables[name][from_rows].mean(0)
        table[to_rows] = model.tables[name][from_rows]
    return started


def _shared(old: Ids, new: Ids) -> tuple[Tensor, Tensor]:
    """Rows of the shared ids in the old and in the new numbering."""
    _, from_rows, to_rows = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    return torch.from_numpy(from_rows), torch.from_numpy(to_rows)
