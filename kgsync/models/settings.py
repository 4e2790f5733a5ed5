"""The settings of a model, `[model]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kgsync.common.declare import Rule, setting
from kgsync.models.parts.titles import titles_of, values_of

__all__ = ["ModelSettings", "Norm"]

Norm = Literal["l1", "l2", "l2sq"]


def _names() -> Sequence[str]:
    from kgsync.models import MODELS

    return sorted(MODELS)


def _wide() -> str:
    return titles_of(lambda model: model.has_relation_dimension)


@dataclass(frozen=True)
class ModelSettings:
    """Which embedding model, and how it scores."""

    name: str = setting("transe", "Name of the model.", choices=_names)
    dimension: int = setting(
        0,
        lambda: (
            "Length of the vectors; 0 takes the paper's choice: "
            f"{values_of(lambda model: model.dimension)}."
        ),
        at_least=0,
        at_most=100_000,
    )
    relation_dimension: int = setting(
        0,
        lambda: (
            f"Length of the relation vectors, only for {_wide()}; 0 takes the dimension of the "
            "entities."
        ),
        at_least=0,
        at_most=100_000,
    )
    norm: Norm = setting(
        "l1",
        lambda: f"Distance of {titles_of(lambda model: model.has_norm)}; l2sq is the square of l2.",
    )
    margin: float = setting(1.0, "Margin of the pairwise ranking loss.", above=0, paper="γ")
    l2_penalty: float = setting(
        0.02,
        lambda: f"Weight of the L2 penalty of {titles_of(lambda model: model.has_penalty)}.",
        at_least=0,
    )

    def __post_init__(self) -> None:
        from kgsync.models import MODELS

        if self.dimension == 0 and self.name in MODELS:
            object.__setattr__(self, "dimension", MODELS[self.name].dimension)

    def rules(self) -> Iterator[Rule]:
        """What the model asks of its settings."""
        from kgsync.models import MODELS

        declared = MODELS[self.name]
        yield Rule(
            self.dimension % declared.divisor == 0,
            ("dimension",),
            f"{self.name} needs a dimension divisible by {declared.divisor}, not {self.dimension}",
        )
        yield Rule(
            self.relation_dimension == 0 or declared.has_relation_dimension,
            ("relation_dimension",),
            f"{self.name} does not support relation_dimension; only {_wide()} does",
        )
