"""Which rows of a model may move, and how steps over pairs of triples are cut into batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import TripleRows
from kgsync.models.base import Kind

__all__ = ["Moving", "PairSteps", "with_training_triples"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Moving:
    """For each entity row and each relation row, whether it may move."""

    entities: Mask
    relations: Mask

    def of(self, kind: Kind) -> Mask:
        """The mask of one kind."""
        return self.entities if kind == "entity" else self.relations


@dataclass(frozen=True)
class PairSteps:
    """How pairs of a positive and a negative triple make gradient steps."""

    batch: int
    """Pairs per step."""
    share: float
    """Weight of one score in a loss that is averaged: what it is in an epoch over all triples."""


def with_training_triples(train: TripleRows, entities: int, relations: int) -> Moving:
    """Rows that have a training triple; the others may be drawn or deleted, but never move."""
    moving = Moving(np.zeros(entities, bool), np.zeros(relations, bool))
    moving.entities[train[[0, 2]].reshape(-1)] = True
    moving.relations[train[1]] = True
    return moving
