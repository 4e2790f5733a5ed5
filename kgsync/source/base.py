"""The version read last, the base of a difference."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.graph.port import TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import EdgeSums, Split

__all__ = ["Base"]


@dataclass(frozen=True)
class Base:
    """The version read last, the base of a difference."""

    source: TripleSource
    edges: Snapshot
    triples: int
    """Number of triples the store had then, literals included."""
    skipped: Skipped
    embedded: Snapshot | None = None
    """Its edges after filters, if they are known; they are found again if not."""
    split: Split | None = None
    """These by part, if that is known."""
    sums: EdgeSums | None = None
    """What identifies them, if that is known."""
