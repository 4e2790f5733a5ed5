"""The settings of a model, `[model]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgsync.common.declare import setting

__all__ = ["ModelSettings", "Norm"]

Norm = Literal["l1", "l2", "l2sq"]


def _names() -> Sequence[str]:
    from kgsync.models import MODELS

    return sorted(MODELS)


@dataclass(frozen=True)
class ModelSettings:
    """Which embedding model, and how it scores."""

    name: str = setting("transe", "Name of the model.", choices=_names)
    dimension: int = setting(
        0,
        "Length of the vectors; 0 takes the paper's choice: 50 for RESCAL, 100 for the others.",
        at_least=0,
        at_most=100_000,
    )
    relation_dimension: int = setting(
        0,
        "Length of TransD's relation vectors; 0 takes the dimension of the entities.",
        at_least=0,
        at_most=100_000,
    )
    norm: Norm = setting("l1", "Distance of the translational models; l2sq is the square of l2.")
    margin: float = setting(1.0, "Margin of the pairwise ranking loss.", above=0, paper="γ")
    l2_penalty: float = setting(
        0.02, "Weight of the L2 penalty of DistMult, ANALOGY and ComplEx.", at_least=0
    )

    def __post_init__(self) -> None:
        from kgsync.models import MODELS

        if self.dimension == 0 and self.name in MODELS:
            object.__setattr__(self, "dimension", MODELS[self.name].dimension)
