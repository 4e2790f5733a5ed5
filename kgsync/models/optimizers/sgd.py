"""Stochastic gradient descent: rows move along their gradient. It takes no L2 penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgsync.models.optimizers.declaration import OptimizerDeclaration
from kgsync.models.parts.loops import function

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["OPTIMIZER"]


def _direction(state: Tensor | None, rows: Tensor, gradient: Tensor) -> Tensor:  # noqa: ARG001
    return gradient


@function
def _move(vector: Any, _state: Any, gradient: Any, step: Any, _weight: Any) -> Any:
    for i in range(len(vector)):
        vector[i] -= step * gradient[i]
    return np.float32(0)


@function
def _move_own(vector: Any, gradient: Any, _state: Any, share: Any, rate: Any) -> None:
    factor = rate * share
    for i in range(len(vector)):
        vector[i] -= factor * gradient[i]


OPTIMIZER = OptimizerDeclaration(
    name="sgd",
    direction=_direction,
    kernels={"move": _move, "move_own": _move_own},
    is_linear=True,
)
