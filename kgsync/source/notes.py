"""What reading needs from the state: the committed version, and storage for small notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kgsync.graph.reading import Reading
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex
from kgsync.graph.versions import GraphVersion

__all__ = ["CommittedBase", "Notes"]


class Notes(Protocol):
    """Stores small notes between steps. A lost note is computed again."""

    def recall(self, name: str) -> Any:
        """The note of a name; None if there is none, or it is damaged."""

    def remember(self, name: str, value: dict[str, Any]) -> None:
        """Store a note; only called while the state is locked."""

    def forget(self, name: str) -> None:
        """Delete a note; only called while the state is locked."""


class CommittedBase(Protocol):
    """The committed version, as far as reading the next one needs it."""

    @property
    def number(self) -> int:
        """Number of the embedding version."""

    @property
    def graph_version(self) -> GraphVersion:
        """The graph version that it belongs to."""

    @property
    def triples(self) -> int:
        """How many triples the store had then, literals included."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """Triples that were not embedded, by reason."""

    @property
    def terms(self) -> TermIndex:
        """The ids assigned so far; may be read from disk on first use."""

    @property
    def edges(self) -> Snapshot:
        """All edges, before filters; may be read from disk on first use."""

    @property
    def reading(self) -> Reading | None:
        """What it was made from, if that is still in memory."""
