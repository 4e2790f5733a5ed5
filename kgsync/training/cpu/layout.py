"""What the kernels work on: a model's tables as plain arrays, and its choices as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.compiled import FAST, compiled
from kgsync.models.base import Model
from kgsync.models.losses import LogisticLoss

__all__ = [
    "Choices",
    "Tables",
    "Triple",
    "choices_of",
    "inlined",
    "kernel",
    "tables_of",
    "triple_at",
]

TRANSE, TRANSH, TRANSD, DISTMULT, RESCAL, ANALOGY = range(6)
"""Codes of the models; those after TransD match meanings."""
L1, L2, L2SQ = range(3)

_CODES = {
    "transe": TRANSE,
    "transh": TRANSH,
    "transd": TRANSD,
    "distmult": DISTMULT,
    "rescal": RESCAL,
    "analogy": ANALOGY,
    "complex": ANALOGY,
}
_NORMS = {"l1": L1, "l2": L2, "l2sq": L2SQ}
_SECOND = {"transh": ("", "normal"), "transd": ("entity_projection", "relation_projection")}
"""Tables beside the vectors themselves, of entities and of relations."""

Matrix = NDArray[np.float32]

kernel = compiled(FAST)
"""Compiles a function that other compiled functions call."""
inlined = compiled(FAST, inline=True)
"""The same for what is done pair by pair, and becomes part of its callers: passing tables on took a
third of the time of an epoch. Only where it was seen to pay: with all of them, compiling the
kernels took more than ten minutes instead of one."""


class Tables(NamedTuple):
    """Arrays with one row an element; a model without second tables has empty ones."""

    entity: Matrix
    relation: Matrix
    entity2: Matrix
    relation2: Matrix


class Triple(NamedTuple):
    """Rows of a head, a relation and a tail."""

    head: int
    relation: int
    tail: int


class Choices(NamedTuple):
    """What distinguishes one model from another, inside the kernels."""

    code: int
    norm: int
    scalars: int
    """How many numbers of an ANALOGY vector are scalars."""
    logistic: bool
    margin: float
    l2_penalty: float
    adagrad: bool


@inlined
def triple_at(triples: Any, at: Any) -> Any:
    """One of many triples, one a row."""
    head: Any = np.int64(triples[at, 0])
    relation: Any = np.int64(triples[at, 1])
    tail: Any = np.int64(triples[at, 2])
    return Triple(head, relation, tail)


def tables_of(model: Model, tables: dict[str, Any] | None = None) -> Tables:
    """A model's tables, or others of the same layout, as views of the same memory."""
    given = model.tables if tables is None else tables
    second = _SECOND.get(model.settings.name, ("", ""))
    names = ("entity", "relation", *second)
    return Tables(
        *(given[name].numpy() if name else np.empty((0, 0), np.float32) for name in names)
    )


def choices_of(model: Model) -> Choices:
    """A model's choices as numbers."""
    settings = model.settings
    penalized = settings.name in ("distmult", "analogy", "complex")
    return Choices(
        _CODES[settings.name],
        _NORMS[settings.norm],
        settings.dimension // 2 if settings.name == "analogy" else 0,
        isinstance(model.loss, LogisticLoss),
        settings.margin,
        settings.l2_penalty if penalized else 0.0,
        model.info.optimizer == "adagrad",
    )
