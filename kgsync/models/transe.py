"""TransE: a relation is a translation, h + r ≈ t. Vectors are not normalised."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from kgsync.config import ModelSettings
from kgsync.models.base import Model, Rows, TableSpec, TrainingDefaults
from kgsync.models.losses import margin_loss

__all__ = ["TransE"]


class TransE(Model):
    """f_r(h, t) = -‖h + r - t‖, L1 or L2."""

    defaults: ClassVar = TrainingDefaults("sgd", 0.001)

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        width = settings.dimension
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width)}

    @property
    def _p(self) -> float:
        return {"l1": 1.0, "l2": 2.0}[self.settings.norm]

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Negative distance."""
        gap = head["entity"] + relation["relation"] - tail["entity"]
        distance: Tensor = torch.linalg.vector_norm(gap, ord=self._p, dim=-1)
        return -distance

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """Distance of h + r to every candidate."""
        return self._distances(head["entity"] + relation["relation"], candidates)

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """Distance of t - r to every candidate."""
        return self._distances(tail["entity"] - relation["relation"], candidates)

    def loss(self, positive: Tensor, negative: Tensor) -> Tensor:
        """Summed margin loss."""
        return margin_loss(positive, negative, self.settings.margin)

    def _distances(self, points: Tensor, candidates: Rows) -> Tensor:
        # The default matrix-product route of cdist is inexact near zero and would break ties.
        mode = "donot_use_mm_for_euclid_dist"
        return -torch.cdist(points, candidates["entity"], p=self._p, compute_mode=mode)
