"""What updates remember from version to version besides the vectors, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import Active, are_among
from kgsync.graph.terms import Ids
from kgsync.models.base import Kind, Rows

__all__ = ["NOTHING_KEPT", "Kept"]

Arrays = Mapping[str, NDArray[Any]]
Debts = NDArray[np.int64]
_STATE, _RANKS = "state.", "ranks."


@dataclass(frozen=True)
class Kept:
    """Arrays by name.

    - `debt.entity.ids` and `debt.entity`: which elements owe an update, by their permanent ids, and
      how much; the same for relations. Elements that owe nothing are left out.
    - `state.<table>`: the optimiser's states, with the rows of the version.
    - `ranks.<name>`: the ranks of the version; see `kgsync.evaluation.carried_ranks`.
    - Numbers that were measured once, each with the conditions that it was measured under.
    """

    arrays: Arrays = field(default_factory=dict)

    def debt(self, kind: Kind, ids: Ids) -> Debts:
        """What each of some elements, sorted by id, owes."""
        debt = np.zeros(len(ids), np.int64)
        owing = self.arrays.get(f"debt.{kind}.ids")
        if owing is not None:
            active = are_among(owing, ids)
            debt[np.searchsorted(ids, owing[active])] = self.arrays[f"debt.{kind}"][active]
        return debt

    def with_debts(self, active: Active, entity: Debts, relation: Debts) -> Kept:
        """The same with what each active element owes now."""
        arrays: dict[str, NDArray[Any]] = {}
        for kind, ids, debt in (
            ("entity", active.entities, entity),
            ("relation", active.relations, relation),
        ):
            owing = np.flatnonzero(debt)
            arrays[f"debt.{kind}.ids"] = ids[owing]
            arrays[f"debt.{kind}"] = debt[owing].astype(np.int32)
        return Kept({**self.arrays, **arrays})

    def number(self, name: str, *conditions: float) -> float | None:
        """A number that was measured once; None if it never was under these conditions."""
        found = self.arrays.get(name)
        if found is None or list(found[1:]) != list(conditions):
            return None
        return float(found[0])

    def with_number(self, name: str, number: float, *conditions: float) -> Kept:
        """The same with a number, and with the conditions that it was measured under."""
        return Kept({**self.arrays, name: np.array([number, *conditions], np.float64)})

    def without(self, *names: str) -> Kept:
        """The same without some numbers."""
        return Kept({name: array for name, array in self.arrays.items() if name not in names})

    def states(self) -> dict[str, NDArray[Any]]:
        """The optimiser's states by table, with the rows of the version they were kept with."""
        return self._of(_STATE)

    def with_states(self, states: Rows) -> Kept:
        """The same with the optimiser's states."""
        more = {f"{_STATE}{name}": state.numpy() for name, state in states.items()}
        return Kept({**self.arrays, **more})

    def ranks(self) -> dict[str, NDArray[Any]]:
        """The ranks of the version; nothing if they were not kept."""
        return self._of(_RANKS)

    def with_ranks(self, ranks: Arrays) -> Kept:
        """The same with the ranks of a version instead of earlier ones."""
        others = {n: array for n, array in self.arrays.items() if not n.startswith(_RANKS)}
        return Kept({**others, **{f"{_RANKS}{name}": array for name, array in ranks.items()}})

    def _of(self, prefix: str) -> dict[str, NDArray[Any]]:
        names = (name for name in self.arrays if name.startswith(prefix))
        return {name.removeprefix(prefix): self.arrays[name] for name in names}


NOTHING_KEPT = Kept()
