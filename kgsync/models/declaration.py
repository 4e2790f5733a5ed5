"""What the file of a model declares: all that the rest of kgsync asks about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsync.models.base import Kind, Model
    from kgsync.models.parts.symmetries import Symmetry

__all__ = ["ModelDeclaration"]


@dataclass(frozen=True)
class ModelDeclaration:
    """A model, its rules and the paper's choices for it."""

    name: str
    """In the settings."""
    title: str
    """As people write it."""
    model: type[Model]
    loss: str
    """Name of a loss in `kgsync.models.losses`."""
    optimizer: str
    """Name of an optimiser in `kgsync.models.optimizers`."""
    learning_rate: float
    """Of training from scratch; updates derive theirs from it."""
    dimension: int = 100
    divisor: int = 1
    """The dimension must be a multiple of it: vectors fall into parts of equal length."""
    has_relation_dimension: bool = False
    """Whether relation vectors may have a length of their own."""
    has_norm: bool = False
    """Whether the score is a distance in the norm of the settings."""
    longer_is_likelier: bool = False
    """Whether triples become more plausible as the vectors of their entities become longer."""
    has_penalty: bool = False
    """Whether the L2 penalty of the settings applies."""
    closed_forms: tuple[Kind, ...] = ()
    """For which new elements the best position has a closed form; see `Model.places`."""
    steps_by_pair: bool = False
    """Whether the kernels support a gradient step after every pair."""
    symmetry: Symmetry | None = None
    """Finds the map that changes no score and leads nearest to old vectors, if there are any."""
    retrains_anew: bool = False
    """Whether aligned retraining begins with random vectors, because `symmetry` alone finds the old
    space again; otherwise it begins with the old vectors."""
    kernels: Mapping[str, Any] | None = None
    """Parts for the slots of `kgsync.models.parts.kernels`; without them, only torch trains it."""
