"""The version read last, the base of a difference."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.graph.port import TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot

__all__ = ["Base"]


@dataclass(frozen=True)
class Base:
    """The version read last, the base of a difference."""

    source: TripleSource
    edges: Snapshot
    triples: int
    """Number of triples the store had then, literals included."""
    skipped: Skipped
