"""The two losses of the paper. Margin losses are summed over a batch, logistic losses averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LogisticLoss", "Loss", "MarginLoss"]


class Loss(Protocol):
    """A training loss, computed from scores."""

    def of_batch(self, positive: Tensor, negative: Tensor) -> Tensor:
        """Loss of a batch from the scores of its positives and negatives, pairwise."""

    def by_owner(
        self, positive: Tensor, negative: Tensor, possible: Tensor, owner: Tensor, owners: int
    ) -> Tensor:
        """Loss of each element from its own triples only, for pretraining.

        Args:
            positive: Score of each positive triple.
            negative: Scores (draws x triples) of the negatives sampled for it.
            possible: For each of those, whether a negative existed.
            owner: The element that each triple belongs to.
            owners: Number of elements.
        """


@dataclass(frozen=True)
class MarginLoss:
    """Eq. pairwise_ranking_loss."""

    margin: float

    def of_batch(self, positive: Tensor, negative: Tensor) -> Tensor:
        """Summed over the pairs."""
        import torch

        return torch.relu(self.margin - positive + negative).sum()

    def by_owner(
        self, positive: Tensor, negative: Tensor, possible: Tensor, owner: Tensor, owners: int
    ) -> Tensor:
        """Eq. train_init_rel and train_init_ent: the mean of the negatives is in the hinge."""
        import torch

        draws = possible.sum(0)
        mean = torch.where(possible, negative, 0.0).sum(0) / draws.clamp(min=1)
        hinge = torch.relu(self.margin - positive + mean) * (draws > 0)
        return positive.new_zeros(owners).index_add(0, owner, hinge)


@dataclass(frozen=True)
class LogisticLoss:
    """Eq. logistic_loss over positive (y = 1) and negative (y = -1) triples."""

    def of_batch(self, positive: Tensor, negative: Tensor) -> Tensor:
        """Averaged over all scores."""
        import torch
        from torch.nn import functional

        return functional.softplus(torch.cat([-positive, negative])).mean()

    def by_owner(
        self, positive: Tensor, negative: Tensor, possible: Tensor, owner: Tensor, owners: int
    ) -> Tensor:
        """Averaged over all scores of an owner."""
        import torch
        from torch.nn import functional

        counts = 1.0 + possible.sum(0)
        terms = functional.softplus(-positive)
        terms = terms + torch.where(possible, functional.softplus(negative), 0.0).sum(0)
        total = positive.new_zeros(owners).index_add(0, owner, terms)
        return total / positive.new_zeros(owners).index_add(0, owner, counts)
