"""DistMult: a relation weights the coordinates that head and tail share."""

from __future__ import annotations

from torch import Tensor

from kgsync.models.base import Rows, TableSpec
from kgsync.models.bilinear import Bilinear
from kgsync.models.losses import LogisticLoss, Loss
from kgsync.models.settings import ModelSettings

__all__ = ["DistMult"]


class DistMult(Bilinear):
    """f_r(h, t) = Σ h·r·t, symmetric in h and t: M is diagonal."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        width = settings.dimension
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width)}

    def from_head(self, head: Rows, relation: Rows) -> Tensor:
        """h·r."""
        return head["entity"] * relation["relation"]

    def from_tail(self, tail: Rows, relation: Rows) -> Tensor:
        """r·t."""
        return tail["entity"] * relation["relation"]

    @property
    def loss(self) -> Loss:
        """Averaged logistic loss."""
        return LogisticLoss()

    def penalty(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """L2 penalty."""
        return self.squares(head, relation, tail)
