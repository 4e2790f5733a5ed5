"""Retrained vectors are brought into the space of the old ones, so that what uses them still works.

While a model is retrained, its vectors may be pulled towards the old ones. Afterwards the model's
own symmetry, if it declares one, brings them as near as is possible without changing a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kgsync.graph.active import Active
from kgsync.models.base import Kind, Model, Rows
from kgsync.models.parts.symmetries import SameScores
from kgsync.training.moving import Moving

__all__ = ["OldVectors", "align"]

_KINDS: tuple[Kind, Kind] = ("entity", "relation")


@dataclass(frozen=True)
class OldVectors:
    """The vectors that elements in both versions had, by table."""

    rows: Mapping[Kind, Tensor]
    """Their rows in the new version."""
    tables: Rows

    @classmethod
    def of(cls, model: Model, before: Active, after: Active) -> OldVectors:
        """Copied from a model that was carried over.

        Args:
            model: The model, on the rows of the new version.
            before: The elements of the old version.
            after: Those of the new one.
        """
        rows = {
            "entity": _shared(before.entities, after.entities),
            "relation": _shared(before.relations, after.relations),
        }
        specs = model.layout(model.settings).items()
        tables = {name: model.tables[name][rows[spec.kind]] for name, spec in specs}
        return cls({kind: rows[kind] for kind in _KINDS}, tables)

    def pull(self, model: Model, share: float) -> None:
        """Move rows a share of the way back to where they were, in place."""
        for kind in _KINDS:
            for name in model.names(kind):
                table, rows, old = model.tables[name], self.rows[kind], self.tables[name]
                table[rows] = torch.lerp(table[rows], old, share)

    def model(self, like: Model) -> Model:
        """A model of these vectors; its elements are `active`."""
        return type(like)(like.settings, dict(self.tables))

    def active(self, after: Active) -> Active:
        """The elements in both versions."""
        rows = {kind: self.rows[kind].numpy() for kind in _KINDS}
        return Active(after.entities[rows["entity"]], after.relations[rows["relation"]])

    def among(self, model: Model, moving: Moving) -> tuple[dict[str, Any], dict[str, Any]]:
        """New and old vectors of the rows that were trained, in double precision."""
        new, old = {}, {}
        for kind in _KINDS:
            rows, trained = self._trained(kind, moving)
            for name in model.names(kind):
                new[name] = model.tables[name][rows].double().numpy()
                old[name] = self.tables[name][trained].double().numpy()
        return new, old

    def _trained(self, kind: Kind, moving: Moving) -> tuple[Tensor, Tensor]:
        """Rows that were trained, and which of the shared rows they are."""
        trained = torch.from_numpy(moving.of(kind)[self.rows[kind].numpy()])
        return self.rows[kind][trained], trained

    def settle(self, model: Model, moving: Moving, found: SameScores) -> None:
        """Choose for single rows the nearest of the vectors that score alike, in place."""
        for name, nearest in found.nearest.items():
            kind = model.layout(model.settings)[name].kind
            rows, trained = self._trained(kind, moving)
            table = model.tables[name]
            near = nearest(
                table[rows].double().numpy(), self.tables[name][trained].double().numpy()
            )
            table[rows] = torch.from_numpy(near).to(table.dtype)


def align(model: Model, old: OldVectors, moving: Moving, states: Rows) -> str | None:
    """Bring retrained vectors as near to the old ones as is possible without changing a score.

    Rows that were not trained stay: they are where they were, among the old vectors.

    Args:
        model: The model, changed in place.
        old: The old vectors.
        moving: The rows that were trained.
        states: The optimiser's states, which follow the vectors.

    Returns:
        What was done, or None if the model declares no symmetry, or nothing is in both versions.
    """
    symmetry = model.info.symmetry
    vectors = old.among(model, moving)
    if symmetry is None or not len(vectors[0]["entity"]) or not len(vectors[0]["relation"]):
        return None
    found = symmetry(model.settings, *vectors)
    for name, spec in model.layout(model.settings).items():
        rows = torch.from_numpy(np.flatnonzero(moving.of(spec.kind)))
        mapped = found.maps[name]
        _replace(model.tables[name], rows, mapped.rows)
        if name in states:
            _replace(states[name], rows, mapped.squares)
    old.settle(model, moving, found)
    return found.kind


def _replace(table: Tensor, rows: Tensor, function: Any) -> None:
    table[rows] = torch.from_numpy(function(table[rows].double().numpy())).to(table.dtype)


def _shared(old: Any, new: Any) -> Tensor:
    """Rows of shared ids in the new numbering."""
    return torch.from_numpy(np.flatnonzero(np.isin(new, old)))
