"""The version read last: a difference may start from it."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.graph.port import TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot

__all__ = ["Base"]


@dataclass(frozen=True)
class Base:
    """What was read last: a difference may start from it."""

    source: TripleSource
    edges: Snapshot
    triples: int
    """Number of triples the store had then, literals included."""
    skipped: Skipped
