"""The settings of a model, `[model]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ModelSettings", "Norm"]

Norm = Literal["l1", "l2", "l2sq"]


@dataclass(frozen=True)
class ModelSettings:
    """The scoring model. Values left out take the paper's defaults for that model."""

    name: str = "transe"
    dimension: int = 0
    """Length of the vectors; 0 takes the paper's: 50 for RESCAL, else 100."""
    relation_dimension: int = 0
    """Length of TransD's relation vectors; 0 takes the same as for entities."""
    norm: Norm = "l1"
    """Distance of the translational models; l2sq is the square of l2."""
    margin: float = 1.0
    """γ of the pairwise ranking loss."""
    l2_penalty: float = 0.02
    """Weight of the L2 penalty of DistMult, ANALOGY and ComplEx."""

    def __post_init__(self) -> None:
        from kgsync.models import MODELS

        if self.dimension == 0 and self.name in MODELS:
            object.__setattr__(self, "dimension", MODELS[self.name].dimension)
