"""Reading one version completely, in the cheapest way the store offers, and checking it.

From the cheapest to the dearest: the changes that somebody wrote down, the difference the store
computes, the buckets whose counts differ, all of it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.buckets import BUCKET_DIGITS, BUCKETS, bucket_names, bucket_number, bucket_numbers
from kgsync.graph.port import BucketReader, ChangeReader, GraphReader, TripleBatch, TripleSource
from kgsync.graph.rows import Rows, Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["Base", "Fetched", "Way", "fetch"]

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


def fetch(
    reader: GraphReader,
    source: TripleSource,
    terms: TermIndex,
    base: Base | None,
    *,
    thorough: bool = False,
) -> Fetched:
    """Read one version.

    Args:
        reader: The store.
        source: Where the version is.
        terms: The ids given so far.
        base: The version read last, if any.
        thorough: Read all of a graph that changes in place: counts of buckets can miss something.

    Raises:
        TransientStoreError: What arrived is not what the store counted, or it moved meanwhile.
    """
    if base is not None and _has_changes(reader, source, base):
        return _by_changes(cast("ChangeReader", reader), source, terms, base)
    # An answer that cannot be half needs one count, afterwards; it also tells of a change.
    before = None if reader.capabilities.complete_answers else reader.count(source)
    reason = _why_scan(reader, source, base, thorough)
    if reason is None and base is not None:
        try:
            if base.source.graph != source.graph:
                return _by_difference(reader, source, terms, base, before)
            return _by_buckets(cast("BucketReader", reader), source, terms, base, before)
        except _MovedError:
            raise
        except StoreError as error:
            cheaper = "difference" if base.source.graph != source.graph else "count by buckets"
            reason = f"the store's {cheaper} was of no use: {error}"
    reason = reason or "first version"
    # An endpoint's limit on rows is seen when an answer is short twice; then it sends parts.
    for _ in range(1 if reader.capabilities.complete_answers else 3):
        try:
            return _by_scan(reader, source, terms, before, reason, careful=False)
        except _MovedError:
            raise
        except TransientStoreError as error:
            if error.retry_after:
                raise
    return _by_scan(reader, source, terms, before, reason, careful=True)


def _by_scan(
    reader: GraphReader,
    source: TripleSource,
    terms: TermIndex,
    before: int | None,
    reason: str,
    *,
    careful: bool,
) -> Fetched:
    """Read all of it."""
    rows = Rows()
    reader.scan(source, rows.receive, careful=careful)
    edges, extended = rows.edges(terms)
    skipped = rows.skipped()
    # A row that came twice must not stand for one that did not come.
    distinct = len(edges) + skipped.total
    triples = _count_after(reader, source, before)
    if not rows.total == distinct == triples:
        received = distinct if rows.total == triples else rows.total
        raise TransientStoreError(
            f"{reader.label} sent {received:,} of {triples:,} triples of {_named(source)}; "
            "nothing was committed, try again"
        )
    return Fetched(edges, extended, triples, skipped, "scan", reason)


def _why_scan(
    reader: GraphReader, source: TripleSource, base: Base | None, thorough: bool
) -> str | None:
    """Why all has to be read, or None if there is a cheaper way."""
    able = reader.capabilities
    if base is None:
        return "there is no earlier version"
    if base.source.graph == source.graph:
        if thorough:
            return "it was time to read all of it"
        return (
            None if able.buckets else "the graph changes in place, so the earlier version is gone"
        )
    if not able.difference:
        return "this kind of store computes no difference"
    if base.source.graph is not None and base.source.graph not in reader.graphs():
        return "the earlier version's graph is gone"
    return None


def _by_difference(
    reader: GraphReader, source: TripleSource, terms: TermIndex, base: Base, before: int | None
) -> Fetched:
    """Apply the store's difference to the base."""
    added, deleted = Rows(), Rows()
    with ThreadPoolExecutor(2 if reader.capabilities.concurrent_reads else 1) as pool:
        directions = ((source, base.source, added), (base.source, source, deleted))
        running = [
            pool.submit(reader.scan_difference, new, old, rows.receive)
            for new, old, rows in directions
        ]
        try:
            while running:
                running.pop().result()
        finally:
            # An error and this frame would keep each other, and the open store, alive.
            running.clear()
    if not reader.capabilities.complete_answers:
        for new, old, rows in directions:
            if rows.total != reader.count_difference(new, old):
                raise TransientStoreError("it came incompletely")
    # This also says whether the earlier graph still has as many triples, without a count of it.
    triples = base.triples + added.total - deleted.total
    if triples != _count_after(reader, source, before):
        raise TransientStoreError(
            "it does not add up, as if the earlier version's graph has changed since it was read"
        )
    added_edges, extended = added.edges(terms)
    deleted_edges, _ = deleted.edges(extended)
    if len(deleted_edges.minus(base.edges)) or len(added_edges.minus(base.edges)) != len(
        added_edges
    ):
        raise TransientStoreError("it does not agree with the last snapshot")
    return Fetched(
        base.edges.minus(deleted_edges).plus(added_edges),
        extended,
        triples,
        base.skipped.plus(added.skipped()).plus(deleted.skipped(), -1),
        "difference",
        "both versions are in the store and the earlier one is unchanged",
    )


def _by_buckets(
    reader: BucketReader, source: TripleSource, terms: TermIndex, base: Base, before: int | None
) -> Fetched:
    """Read the buckets whose counts differ from those of the base."""
    own = bucket_numbers(base.edges, terms)
    theirs = np.zeros(BUCKETS, np.int64)
    for name, count in reader.count_buckets(source, BUCKET_DIGITS).items():
        theirs[bucket_number(name)] = count
    differing = np.bincount(own, minlength=BUCKETS) != theirs
    rows = Rows()
    if differing.any():
        reader.scan_buckets(source, bucket_names(differing), rows.receive)
    edges, extended = rows.edges(terms)
    if not rows.total == len(edges) == theirs[differing].sum():
        raise TransientStoreError("the buckets came incompletely")
    if not differing[bucket_numbers(edges, extended)].all():
        raise PermanentStoreError("it computes other hashes than everybody")
    edges = base.edges.where(~differing[own]).plus(edges)
    triples = _count_after(reader, source, before)
    others = triples - len(edges)
    if len(edges) != theirs.sum() or others < 0:
        raise TransientStoreError("the buckets do not add up")
    # What is no edge is in no bucket: if there are more or fewer, their kinds are not known.
    more = others - base.skipped.total
    # Nor may an edge that did not come pass for one of those.
    if more and sum(reader.count_buckets(source, 0).values()) != len(edges):
        raise TransientStoreError("the buckets do not add up to the edges")
    literals = base.skipped.literals + more
    skipped = replace(base.skipped, literals=literals) if literals >= 0 else Skipped(others)
    reason = f"{differing.sum():,} of {BUCKETS:,} buckets have other counts than before"
    return Fetched(edges, extended, triples, skipped, "buckets", reason)


def _has_changes(reader: GraphReader, source: TripleSource, base: Base) -> bool:
    able = reader.capabilities.changes
    return able and cast("ChangeReader", reader).has_changes(source, base.source)


def _by_changes(
    reader: ChangeReader, source: TripleSource, terms: TermIndex, base: Base
) -> Fetched:
    """Make the changes that were written down, in their order."""
    steps: list[tuple[str, Rows]] = []

    def receive(kind: str, batch: TripleBatch | None) -> None:
        if not steps or steps[-1][0] != kind:
            steps.append((kind, Rows()))
        if batch is not None:
            steps[-1][1].receive(batch)

    reader.scan_changes(source, base.source, receive)
    edges, skipped = base.edges, base.skipped
    for kind, rows in steps:
        changed, terms = rows.edges(terms)
        if kind == "clear":
            edges, skipped = Snapshot.empty(), Skipped()
        elif kind == "remove":
            edges, skipped = edges.minus(changed), skipped.plus(rows.skipped(), -1)
        else:
            edges, skipped = edges.plus(changed), skipped.plus(rows.skipped())
    # Only edges are kept, so a literal that is removed twice is counted twice.
    skipped = Skipped(*(max(0, count) for count in vars(skipped).values()))
    reason = "every change since the earlier version was written down"
    return Fetched(edges, terms, len(edges) + skipped.total, skipped, "changes", reason)


class _MovedError(TransientStoreError):
    """The graph changed while it was read: what was counted before holds no more."""


def _count_after(reader: GraphReader, source: TripleSource, before: int | None) -> int:
    """The store's own count, by which what arrived is judged: never learn from half a graph."""
    after = reader.count(source)
    if before not in (None, after):
        raise _MovedError(
            f"{_named(source)} in {reader.label} changed while it was read "
            f"({before:,} triples before, {after:,} after); try again when it is at rest"
        )
    return after


def _named(source: TripleSource) -> str:
    return f"<{source.graph}>" if source.graph else "the default graph"
