"""RESCAL: a relation is a full matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from kgsync.models.base import Rows, TableSpec
from kgsync.models.bilinear import Bilinear
from kgsync.models.losses import Loss, MarginLoss
from kgsync.models.settings import ModelSettings

__all__ = ["Rescal"]


class Rescal(Bilinear):
    """f_r(h, t) = hᵀ M t; M is kept as a row of d² numbers."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity, one matrix per relation."""
        width = settings.dimension
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width**2)}

    def from_head(self, head: Rows, relation: Rows) -> Tensor:
        """hᵀ M."""
        return torch.einsum("bi,bij->bj", head["entity"], self._matrices(relation))

    def from_tail(self, tail: Rows, relation: Rows) -> Tensor:
        """M t."""
        return torch.einsum("bij,bj->bi", self._matrices(relation), tail["entity"])

    @property
    def loss(self) -> Loss:
        """Summed margin loss; OpenKE gives RESCAL no penalty."""
        return MarginLoss(self.settings.margin)

    def _matrices(self, relation: Rows) -> Tensor:
        width = self.settings.dimension
        return relation["relation"].view(-1, width, width)
