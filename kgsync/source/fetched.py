"""One version as it was read, and what a reading may start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kgsync.graph.port import TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["Base", "Fetched", "Way"]

Way = Literal["scan", "difference", "buckets", "changes"]


@dataclass(frozen=True)
class Base:
    """What was read last: a difference may start from it."""

    source: TripleSource
    edges: Snapshot
    triples: int
    """Number of triples the store had then, literals included."""
    skipped: Skipped


@dataclass(frozen=True)
class Fetched:
    """All edges of one version, checked against the store's own count."""

    edges: Snapshot
    terms: TermIndex
    """The term index, with the version's new terms appended."""
    triples: int
    skipped: Skipped
    way: Way
    reason: str
    """Why that way was taken, for the plan."""
    caveat: str = ""
    """What this way cannot see, and when it will be seen."""
