"""Adagrad: gradients are divided by the root of the sum of their squares so far."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from kgsync.models.optimizers.declaration import OptimizerDeclaration
from kgsync.models.parts.loops import function

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["OPTIMIZER"]

_EPSILON = 1e-10


def _direction(state: Tensor | None, rows: Tensor, gradient: Tensor) -> Tensor:
    assert state is not None
    accumulated = state[rows].addcmul_(gradient, gradient)
    state[rows] = accumulated
    return gradient / accumulated.sqrt_().add_(_EPSILON)


@function
def _move(vector: Any, squares: Any, gradient: Any, step: Any, weight: Any) -> Any:
    total: Any = np.float32(0)
    double, epsilon = np.float32(2) * weight, np.float32(_EPSILON)
    for i in range(len(vector)):
        by = gradient[i] + double * vector[i]
        total += vector[i] * vector[i]
        squares[i] += by * by
        vector[i] -= step * by / (sqrt(squares[i]) + epsilon)
    return total


@function
def _move_own(vector: Any, gradient: Any, squares: Any, share: Any, rate: Any) -> None:
    for i in range(len(vector)):
        slope = share * gradient[i]
        squares[i] += slope * slope
        vector[i] -= rate * slope / (np.float32(sqrt(squares[i])) + np.float32(_EPSILON))


OPTIMIZER = OptimizerDeclaration(
    name="adagrad",
    direction=_direction,
    kernels={"move": _move, "move_own": _move_own},
    has_state=True,
    takes_penalty=True,
)
