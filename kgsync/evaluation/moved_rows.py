"""Which vectors differ between two versions, to the bit: one pass over the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import Active, rows_of, shared_rows
from kgsync.graph.terms import Ids
from kgsync.models.base import Kind, Model

__all__ = ["Embedded", "moved_ids"]

_BLOCK = 1 << 14  # rows at a time: what is compared stays in the cache

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Embedded:
    """A model, and the elements its rows belong to."""

    model: Model
    active: Active

    def ids(self, kind: Kind) -> Ids:
        """The elements of one kind."""
        return self.active.entities if kind == "entity" else self.active.relations


def moved_ids(old: Embedded, new: Embedded, kind: Kind) -> Ids:
    """Ids of the elements in both versions any of whose vectors differ in any bit."""
    here, there = shared_rows(old.ids(kind), new.ids(kind))
    moved = np.zeros(len(there), bool)
    names = old.model.names(kind)
    before = [_bits(old.model, name) for name in names]
    after = [_bits(new.model, name) for name in names]
    for start in range(0, len(there), _BLOCK):
        part = slice(start, start + _BLOCK)
        for a, b in zip(before, after, strict=True):
            moved[part] |= (rows_of(a, here[part]) != rows_of(b, there[part])).any(axis=1)
    return new.ids(kind)[there[moved]]


def _bits(model: Model, name: str) -> NDArray[Any]:
    """A table as whole numbers: NaN equals itself, and -0 is not 0."""
    table: NDArray[Any] = model.tables[name].contiguous().numpy()
    return table.view(np.int64 if table.itemsize == 8 else np.int32)
