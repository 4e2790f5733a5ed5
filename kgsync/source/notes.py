"""What reading asks of the state: the committed version, and a place for small notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex
from kgsync.graph.versions import GraphVersion

__all__ = ["CommittedBase", "Notes"]


class Notes(Protocol):
    """Remembers small things from one step to the next. A lost note is only found out again."""

    def recall(self, name: str) -> Any:
        """What was remembered under a name; None if nothing was, or it is damaged."""

    def remember(self, name: str, value: dict[str, Any]) -> None:
        """Keep something small; only called while the state is locked."""

    def forget(self, name: str) -> None:
        """Keep it no longer; only called while the state is locked."""


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
        """The ids given so far; may be read from disk when first asked for."""

    @property
    def edges(self) -> Snapshot:
        """All edges, before filters; may be read from disk when first asked for."""
