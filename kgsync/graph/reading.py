"""The data of one graph version as read, and compared with the version before it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from kgsync.graph.change import ChangeSet
from kgsync.graph.hashing import mixed
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import EdgeSums, Split
from kgsync.graph.terms import TermIndex
from kgsync.graph.versions import GraphVersion

__all__ = ["Fetched", "Reading", "Way"]

Way = Literal["scan", "difference", "buckets", "changes"]


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
    """Why this method was chosen, for the plan."""
    caveat: str = ""
    """What this method cannot detect, and when it will be detected."""
    difference: tuple[Snapshot, Snapshot] | None = None
    """Edges that were added to the base and deleted from it, if this method found them."""


@dataclass(frozen=True)
class Reading:
    """One graph version, read completely and compared with the current one."""

    version: GraphVersion
    behind: int
    """Graph versions after this one."""
    fetched: Fetched
    edges: Snapshot
    """The edges to embed."""
    dropped: dict[str, int]
    """Edges that the filters left out."""
    split: Split
    change: ChangeSet
    """What is learned from: all edges are new in the first version, and in one that is rebuilt."""
    removed_share: float
    """Share of the embedded edges that are gone."""
    gathered: tuple[str, ...] = ()
    """Earlier versions that were skipped: their changes are part of this one."""
    costs: dict[str, Any] = field(default_factory=dict)
    """What reading the store has cost so far, this reading included, as plain values."""
    files: dict[str, str] = field(default_factory=dict)
    """Stamps of the files that it was read from, if it was."""
    since_last: ChangeSet | None = None
    """What a version that is rebuilt changes in the graph of the last one, under the same settings;
    None for others, where `change` says it."""
    known_sums: EdgeSums | None = None
    """What identifies the edges, if it follows from the version before."""

    @cached_property
    def sums(self) -> EdgeSums:
        """What identifies the edges to embed."""
        return self.known_sums or EdgeSums.of(self.edges, self.fetched.terms)

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the change, so for one base the content, whatever the version is called."""
        terms, digest = self.fetched.terms, hashlib.sha256()
        entities, relations = terms.entities.hashes, terms.relations.hashes
        for edges in (self.change.added_triples, self.change.deleted_triples):
            heads, tails = entities[edges.heads], entities[edges.tails]
            # Sorted by hash: ids of new terms may depend on how the graph was read.
            hashes = np.sort(mixed(heads, relations[edges.relations], tails))
            digest.update(len(hashes).to_bytes(8, "little") + hashes.tobytes())
        return digest.hexdigest()

    @property
    def skipped(self) -> dict[str, int]:
        """Triples that are not embedded, by reason."""
        return {**vars(self.fetched.skipped), **self.dropped}
