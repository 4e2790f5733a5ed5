"""Cost counters, as defined in the paper's theorems."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cost"]


@dataclass
class Cost:
    """Counters that training code increases."""

    score_evaluations: int = 0
    """Scored triples."""
    gradient_steps: int = 0
    """Vectors updated: one vector updated once is one step. Torch counts all vectors of a batch,
    the kernels those that the loss depends on."""
