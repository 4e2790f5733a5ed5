"""Small steps for entities that are trained in part: they stay near their place.

Such an entity sees only a sample of its triples, so that full steps would throw it about. It moves
by a share of each epoch's movement; the share grows with that of its triples that have changed.
"""

from __future__ import annotations

from types import TracebackType

import numpy as np
import torch

from kgsync.models.base import Model, Rows
from kgsync.training.updates.parts.concern import Concern

__all__ = ["DampedRows"]

_STEEPNESS = 16
"""The share is the root of so many times the share of the triples that have changed, at most 1."""


class DampedRows:
    """A context for one epoch after the other, at whose end part of the movement is taken back."""

    def __init__(self, model: Model, concern: Concern) -> None:
        """Find the rows that take small steps."""
        changed = concern.now / np.maximum(concern.degree, 1)
        share = np.sqrt(_STEEPNESS * changed)
        rows = np.flatnonzero(concern.partly & (share < 1))
        self._model = model
        self._rows = torch.from_numpy(rows)
        self._share = torch.from_numpy(share[rows].astype(np.float32))
        self._before: Rows = {}

    def __enter__(self) -> None:
        """Remember where the rows are."""
        self._before = self._model.rows("entity", self._rows)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take back part of the movement."""
        for name, before in self._before.items():
            table = self._model.tables[name]
            share = self._share.view(-1, *(1 for _ in before.shape[1:]))
            table[self._rows] = torch.lerp(before, table[self._rows], share)
