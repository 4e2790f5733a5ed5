"""Eq. logistic_loss over positive (y = 1) and negative (y = -1) triples, averaged."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log1p
from typing import TYPE_CHECKING, Any

import numpy as np

from kgsync.common.kernels import kernel
from kgsync.models.losses.declaration import LossDeclaration
from kgsync.models.parts.kernels import Triple, add_own, score
from kgsync.models.parts.loops import function, inlined

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LOSS", "LogisticLoss"]


@dataclass(frozen=True)
class LogisticLoss:
    """The torch form."""

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

        counts = (1.0 + possible.sum(0)).to(positive.dtype)
        terms = functional.softplus(-positive)
        terms = terms + torch.where(possible, functional.softplus(negative), 0.0).sum(0)
        total = positive.new_zeros(owners).index_add(0, owner, terms)
        return total / positive.new_zeros(owners).index_add(0, owner, counts)


@kernel()
def _softplus(x: Any) -> Any:
    """log(1 + exp(x)) and its slope."""
    small = exp(-abs(x))
    slope = 1 / (1 + small)
    return max(x, 0.0) + log1p(small), np.float32(slope if x >= 0 else small * slope)


@kernel()
def _slopes(_margin: Any, right: Any, wrong: Any, share: Any) -> Any:
    value, up = _softplus(-right)
    false_value, down = _softplus(wrong)
    return share * (value + false_value), -share * up, share * down


@inlined
def _add_evidence(
    _margin: Any,
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
    value, slope = _softplus(-score(tables, true, work))
    add_own(tables, true, -slope, element.of_relation, element.row, sums, own, work)
    total += value
    for number in range(drawn):
        false = Triple(negatives.heads[number], true.relation, negatives.tails[number])
        value, slope = _softplus(score(tables, false, work))
        add_own(tables, false, slope, element.of_relation, element.row, sums, own, work)
        total += value
    return total, scores + 1 + drawn


@function
def _of_element(total: Any, scores: Any) -> Any:
    """A mean, and so are the gradients."""
    return np.float32(total / scores), np.float32(1.0 / scores)


LOSS = LossDeclaration(
    name="logistic",
    create=lambda _: LogisticLoss(),
    kernels={"slopes": _slopes, "add_evidence": _add_evidence, "of_element": _of_element},
)
