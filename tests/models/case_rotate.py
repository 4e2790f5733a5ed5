"""RotatE under test: its lines in the tables of every model."""

from __future__ import annotations

from math import cos, sin

import numpy as np

from kgsync.config import ModelSettings
from tests.models import loss_margin
from tests.models.cases import NORMS, ModelCase, Vectors


def _rotate(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    """Complex numbers of Python, which are multiplied by exp(iθ)."""
    h, t = (
        real + 1j * imaginary
        for real, imaginary in (np.split(v["entity"], 2) for v in (head, tail))
    )
    gap = h * np.exp(1j * relation["relation"]) - t
    return -NORMS["l2"](np.concatenate([gap.real, gap.imag]))


def _whole(
    head: dict[str, list[int]], relation: dict[str, list[int]], tail: dict[str, list[int]]
) -> int:
    """Millionths of the squared distance: phases of whole radians make no whole numbers."""
    (a, b), (theta,), (c, d) = head["entity"], relation["relation"], tail["entity"]
    gap = complex(a, b) * complex(cos(theta), sin(theta)) - complex(c, d)
    return -round(1e6 * (gap.real**2 + gap.imag**2))


CASES = [
    ModelCase(
        # A margin that some pairs of the suites meet: else the gradients of a triple that is true
        # in one pair and false in another cancel to noise, which Adagrad would bring to full size.
        settings=ModelSettings("rotate", 6, margin=0.2),
        score=_rotate,
        loss=loss_margin.of_batch,
        optimizer="adagrad",
        learning_rate=0.1,
    )
]
WHOLE = [(ModelSettings("rotate", 2), _whole)]
LEARNERS = [("rotate", ModelSettings("rotate", 16), "circle", 0.1, 20)]
