"""Taking over vectors that were trained elsewhere, without moving them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from kgsync.errors import ConfigError
from kgsync.graph.terms import TermIndex
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.training.problem import Problem

__all__ = ["adopt_vectors"]


def adopt_vectors(
    problem: Problem, terms: TermIndex, vectors: dict[str, tuple[list[str], Any]], file: str
) -> tuple[Model, dict[str, int]]:
    """A model with the given vectors; elements without one get the mean of those that fit.

    Args:
        problem: The version the vectors belong to.
        terms: Ids of its terms.
        vectors: "entity" and "relation" -> IRIs and their vectors.
        file: Where they come from, for messages.

    Returns:
        The model, and counts: vectors adopted, elements of the graph without one, vectors unused.

    Raises:
        ConfigError: The vectors do not fit the model, or none belongs to the graph.
    """
    settings, active = problem.settings.model, problem.active
    chosen = model_class(settings.name)
    layout = chosen.layout(settings)
    extra = sorted(set(layout) - {"entity", "relation"})
    if extra:
        raise ConfigError(
            f"{settings.name} also needs the tables {', '.join(extra)}, which {file} lacks; "
            "adopt vectors of a model with one vector per element"
        )
    tables = {}
    counts = {"adopted": 0, "without_vector": 0, "unused_vectors": 0}
    for kind, table, alive in (
        ("entity", terms.entities, active.entities),
        ("relation", terms.relations, active.relations),
    ):
        iris, given = vectors[kind]
        if given.shape[1] != layout[kind].width:
            raise ConfigError(
                f"{file} has {kind} vectors of length {given.shape[1]}, but {settings.name} with "
                f"dimension {settings.dimension} needs {layout[kind].width}; set model.dimension"
            )
        ids = table.ids(pa.array(iris, pa.string()))
        usable = np.isin(ids, alive)
        if not usable.any():
            raise ConfigError(f"no {kind} IRI of {file} occurs in the graph")
        rows = np.searchsorted(alive, ids[usable])
        values = np.tile(given[usable].mean(axis=0, dtype=np.float64), (len(alive), 1))
        values = values.astype(np.float32)
        values[rows] = given[usable]
        counts["adopted"] += len(rows)
        counts["without_vector"] += len(alive) - len(rows)
        counts["unused_vectors"] += len(iris) - len(rows)
        tables[kind] = torch.from_numpy(values)
    return chosen(settings, tables), counts
