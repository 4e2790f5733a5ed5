"""Which vectors differ between two versions, to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import Active, rows_of, shared_rows
from kgsync.graph.snapshot import places
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
    touched: Mapping[Kind, Numbers] | None = None
    """The rows, ascending, that may differ from those of the version before; all if it is None.

    Those of new elements may be missing. What really differs is found by comparing the bits.
    """

    def ids(self, kind: Kind) -> Ids:
        """The elements of one kind."""
        return self.active.entities if kind == "entity" else self.active.relations


def moved_ids(old: Embedded, new: Embedded, kind: Kind) -> Ids:
    """Ids of the elements in both versions any of whose vectors differ in any bit."""
    here, there = _compared_rows(old, new, kind)
    moved = np.zeros(len(there), bool)
    names = old.model.names(kind)
    before = [_bits(old.model, name) for name in names]
    after = [_bits(new.model, name) for name in names]
    for start in range(0, len(there), _BLOCK):
        part = slice(start, start + _BLOCK)
        for a, b in zip(before, after, strict=True):
            moved[part] |= (rows_of(a, here[part]) != rows_of(b, there[part])).any(axis=1)
    return new.ids(kind)[there[moved]]


def _compared_rows(old: Embedded, new: Embedded, kind: Kind) -> tuple[Numbers, Numbers]:
    """Rows of the old and of the new version that may differ, of the same elements."""
    if new.touched is None:
        return shared_rows(old.ids(kind), new.ids(kind))
    there = new.touched[kind]
    here = places(old.ids(kind), new.ids(kind)[there])
    return here[here >= 0], there[here >= 0]


def _bits(model: Model, name: str) -> NDArray[Any]:
    """A table as whole numbers: NaN equals itself, and -0 is not 0."""
    table: NDArray[Any] = model.tables[name].contiguous().numpy()
    return table.view(np.int64 if table.itemsize == 8 else np.int32)
