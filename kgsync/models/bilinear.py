"""What the semantic matching models share: the score is linear in the head and in the tail."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from kgsync.models.base import Model, Rows
from kgsync.models.distances import products_with_all

__all__ = ["Bilinear"]


class Bilinear(Model):
    """f_r(h, t) = hᵀ M t, where M is the matrix of r, in whatever form the model keeps it."""

    @abstractmethod
    def from_head(self, head: Rows, relation: Rows) -> Tensor:
        """hᵀ M, row by row: what a tail is multiplied with."""

    @abstractmethod
    def from_tail(self, tail: Rows, relation: Rows) -> Tensor:
        """M t, row by row: what a head is multiplied with."""

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """hᵀ M t."""
        return (self.from_head(head, relation) * tail["entity"]).sum(-1)

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """hᵀ M with every candidate."""
        return products_with_all(self.from_head(head, relation), candidates["entity"])

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """M t with every candidate."""
        return products_with_all(self.from_tail(tail, relation), candidates["entity"])

    def squares(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """L2 penalty on the mean squares of a batch's vectors (OpenKE)."""
        parts = (head["entity"], relation["relation"], tail["entity"])
        total = sum((part.square().mean() for part in parts), start=parts[0].new_zeros(()))
        return self.settings.l2_penalty * total
