"""The two losses inside the kernels: of a pair of scores, with the slopes by them."""

from __future__ import annotations

from math import exp, log1p
from typing import Any

import numpy as np

from kgsync.common.compiled import compiled
from kgsync.common.kernels import Slot, kernel

__all__ = ["LOGISTIC", "slopes", "softplus"]

LOGISTIC: Any = Slot("LOGISTIC")
"""Whether the loss is logistic, else it has a margin."""


@compiled(inner=True)
def softplus(x: Any) -> Any:
    """log(1 + exp(x)) and its slope."""
    small = exp(-abs(x))
    slope = 1 / (1 + small)
    return max(x, 0.0) + log1p(small), np.float32(slope if x >= 0 else small * slope)


@kernel()
def slopes(margin: Any, right: Any, wrong: Any, share: Any) -> Any:
    """Loss of a pair, and its slopes by the two scores."""
    if LOGISTIC:
        value, up = softplus(-right)
        false_value, down = softplus(wrong)
        return share * (value + false_value), -share * up, share * down
    hinge = np.float64(margin - right + wrong)
    one = np.float32(1)
    # NaN is passed on, so that it ends the run.
    return (hinge if hinge > 0 or hinge != hinge else 0.0), -one, one  # noqa: PLR0124
