"""No vector becomes longer than others with as many triples, where length makes triples plausible.

With a loss without a margin, the few rows that move would learn their own triples by becoming ever
longer. As false answers they would then rank high everywhere, and say little about triples that
were never seen.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.models.base import Model
from kgsync.training.updates.parts.concern import Concern

__all__ = ["LimitedLengths"]

_SAMPLE = 20_000
"""Rows that stay as they are whose lengths are looked at."""

Floats = NDArray[np.float32]


class LimitedLengths:
    """Shortens the entities that move, epoch by epoch."""

    def __init__(
        self, model: Model, concern: Concern, limit: float | None, random: np.random.Generator
    ) -> None:
        """Find out how long each row may be: as long as it is now in any case, unless it is new.

        Args:
            model: The model.
            concern: Which rows move.
            limit: Share of the mean length of rows that stay; None for no limit.
            random: Source of randomness.
        """
        moving = concern.moving.entities
        rows = np.flatnonzero(moving)
        staying = np.flatnonzero(~moving & (concern.degree > 0))
        self._model, self._rows = model, torch.from_numpy(rows[:0])
        if limit is None or not len(rows) or not len(staying):
            return
        if len(staying) > _SAMPLE:
            staying = np.sort(random.choice(staying, _SAMPLE, replace=False))
        usual = _by_size(self._lengths(staying), concern.degree[staying], concern.degree[rows])
        kept = np.where(concern.new[rows], 0, self._lengths(rows))
        self._rows = torch.from_numpy(rows)
        self._most = torch.from_numpy(np.maximum(limit * usual, kept).astype(np.float32))

    def shorten(self) -> None:
        """Shorten the rows that have become too long."""
        if not len(self._rows):
            return
        table = self._model.tables["entity"]
        vectors = table[self._rows]
        length = torch.linalg.vector_norm(vectors, dim=-1)
        share = (self._most / length.clamp(min=torch.finfo(length.dtype).tiny)).clamp(max=1)
        table[self._rows] = vectors * share.unsqueeze(-1)

    def _lengths(self, rows: NDArray[np.int64]) -> Floats:
        vectors = self._model.tables["entity"][torch.from_numpy(rows)]
        lengths: Floats = torch.linalg.vector_norm(vectors, dim=-1).numpy()
        return lengths


def _by_size(lengths: Floats, degree: NDArray[np.int64], wanted: NDArray[np.int64]) -> Floats:
    """The mean length of rows with about as many triples, for each wanted number of triples.

    Rows with more triples are at least as long as those with fewer.
    """
    found, group = np.unique(np.log2(degree).astype(np.int64), return_inverse=True)
    means = np.bincount(group, lengths) / np.bincount(group)
    size = np.log2(np.maximum(wanted, 1)).astype(np.int64)
    at = np.maximum(np.searchsorted(found, size, side="right") - 1, 0)
    usual: Floats = np.maximum.accumulate(means)[at].astype(np.float32)
    return usual
