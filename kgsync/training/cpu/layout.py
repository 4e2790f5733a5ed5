"""What the kernels work on: a model's tables as plain arrays, and two of its settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.compiled import FAST, compiled
from kgsync.models.base import Kind, Model
from kgsync.models.parts.kernels import Triple

__all__ = ["Parameters", "Tables", "inlined", "kernel", "parameters_of", "tables_of", "triple_at"]

Matrix = NDArray[np.float32]

kernel = compiled(FAST, inner=True)
"""Compiles a function that other compiled functions call, whatever the model."""
inlined = compiled(FAST, inline=True, inner=True)
"""The same for what becomes part of its callers; see `kgsync.models.parts.loops.inlined`."""


class Tables(NamedTuple):
    """Arrays with one row per element; a model without second tables has empty ones."""

    entity: Matrix
    relation: Matrix
    entity2: Matrix
    relation2: Matrix


class Parameters(NamedTuple):
    """Settings that the kernels are not compiled for, but read."""

    margin: float
    l2_penalty: float


@inlined
def triple_at(triples: Any, at: Any) -> Any:
    """One of many triples, one per row."""
    head: Any = np.int64(triples[at, 0])
    relation: Any = np.int64(triples[at, 1])
    tail: Any = np.int64(triples[at, 2])
    return Triple(head, relation, tail)


def tables_of(model: Model, tables: dict[str, Any] | None = None) -> Tables:
    """A model's tables, or others of the same layout, as views of the same memory."""
    given = model.tables if tables is None else tables

    def second(kind: Kind) -> Matrix:
        others = [name for name in model.names(kind) if name != kind]
        return given[others[0]].numpy() if others else np.empty((0, 0), np.float32)

    first = given["entity"].numpy(), given["relation"].numpy()
    return Tables(*first, second("entity"), second("relation"))


def parameters_of(model: Model) -> Parameters:
    """A model's settings for the kernels."""
    settings = model.settings
    return Parameters(settings.margin, settings.l2_penalty if model.info.has_penalty else 0.0)
