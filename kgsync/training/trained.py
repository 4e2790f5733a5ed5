"""A trained model with its report, and the version that it was updated from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from kgsync.graph.active import Active
from kgsync.models.base import Model

__all__ = ["LearnedVersion", "Trained"]


class LearnedVersion(Protocol):
    """The committed version, as far as updating it needs it."""

    @property
    def model(self) -> Mapping[str, Any]:
        """The settings of its model."""

    @property
    def tables(self) -> Mapping[str, NDArray[Any]]:
        """The tables of its model by name; may be read from disk when first asked for."""

    @property
    def active(self) -> Active:
        """Which elements the rows of the tables belong to."""

    @property
    def quality(self) -> dict[str, Any] | None:
        """How good it was found to be."""

    @property
    def kept(self) -> Mapping[str, NDArray[Any]]:
        """What its update has left for the next; nothing if it was not asked for."""


@dataclass(frozen=True)
class Trained:
    """A model for a reading, and its report."""

    action: Literal["trained", "updated", "unchanged", "adopted", "rebuilt"]
    model: Model
    about: dict[str, Any]
    """Fields of the report: qualities, epochs."""
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What the next update is told besides the vectors."""

    @property
    def tables(self) -> dict[str, NDArray[Any]]:
        """The tables of the model as numpy arrays, which share its memory."""
        return {name: table.numpy() for name, table in self.model.tables.items()}
