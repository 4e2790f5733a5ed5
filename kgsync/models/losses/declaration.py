"""What the file of a loss declares: its torch form, and parts for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kgsync.models.settings import ModelSettings

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Loss", "LossDeclaration"]


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
class LossDeclaration:
    """A loss in its two forms, which must agree."""

    name: str
    """As models name it."""
    create: Callable[[ModelSettings], Loss]
    """The torch form."""
    kernels: Mapping[str, Any]
    """Parts for all slots of `kgsync.models.parts.loss_kernels`."""
    is_sum: bool = False
    """Whether the loss of a batch is the sum of those of its pairs, so that threads may share out
    a batch; else it is a mean."""
    has_margin: bool = False
    """Whether a pair whose scores are far enough apart has no gradient any more."""
