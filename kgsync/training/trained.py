"""A model for a graph version, and how it came to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from kgsync.models.base import Model

__all__ = ["Trained"]


@dataclass(frozen=True)
class Trained:
    """A model for a reading, and how it came to be."""

    action: Literal["trained", "updated", "unchanged", "adopted", "rebuilt"]
    model: Model
    about: dict[str, Any]
    """Fields of the report: qualities, epochs."""

    @property
    def tables(self) -> dict[str, NDArray[Any]]:
        """The tables of the model as numpy arrays, which share its memory."""
        return {name: table.numpy() for name, table in self.model.tables.items()}
