"""The two losses of the paper. Margin losses are summed over a batch, logistic losses averaged."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["logistic_loss", "margin_loss"]


def margin_loss(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Eq. pairwise_ranking_loss."""
    return torch.relu(margin - positive + negative).sum()


def logistic_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Eq. logistic_loss over true (y = 1) and false (y = -1) triples."""
    return functional.softplus(torch.cat([-positive, negative])).mean()
