"""Eq. pairwise_ranking_loss: a positive must score higher than its negative, by a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgsync.common.kernels import kernel
from kgsync.models.losses.declaration import LossDeclaration
from kgsync.models.parts.kernels import Triple, add_own, score
from kgsync.models.parts.loops import function, inlined

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LOSS", "MarginLoss"]


@dataclass(frozen=True)
class MarginLoss:
    """The torch form."""

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


@kernel()
def _slopes(margin: Any, right: Any, wrong: Any, _share: Any) -> Any:
    hinge = np.float64(margin - right + wrong)
    one = np.float32(1)
    # NaN is passed on, so that it ends the run.
    return (hinge if hinge > 0 or hinge != hinge else 0.0), -one, one  # noqa: PLR0124


@inlined
def _add_evidence(
    margin: Any,
    tables: Any,
    true: Any,
    negatives: Any,
    drawn: Any,
    element: Any,
    sums: Any,
    own: Any,
    work: Any,
    total: Any,
    scores: Any,
) -> Any:
    if drawn == 0:
        return total, scores
    one = np.float32(1)
    right, wrong = score(tables, true, work), 0.0
    for number in range(drawn):
        false = Triple(negatives.heads[number], true.relation, negatives.tails[number])
        wrong += score(tables, false, work)
    hinge = margin - right + wrong / drawn
    if hinge <= 0:
        return total, scores
    add_own(tables, true, -one, element.of_relation, element.row, sums, own, work)
    for number in range(drawn):
        false = Triple(negatives.heads[number], true.relation, negatives.tails[number])
        weight = one / np.float32(drawn)
        add_own(tables, false, weight, element.of_relation, element.row, sums, own, work)
    return total + hinge, scores


@function
def _of_element(total: Any, _scores: Any) -> Any:
    return np.float32(total), np.float32(1)


LOSS = LossDeclaration(
    name="margin",
    create=lambda settings: MarginLoss(settings.margin),
    kernels={"slopes": _slopes, "add_evidence": _add_evidence, "of_element": _of_element},
    is_sum=True,
    has_margin=True,
)
