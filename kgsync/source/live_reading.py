"""Reading a graph that changes in place, perhaps while it is read.

The result holds every edge that existed during the whole reading, and none that never existed. The
graph may keep changing meanwhile: every answer contains the COUNT of its own triples, so each is
checked for completeness by itself, and different answers never contain the same edge.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import cast

import numpy as np

from kgsync.common.retrying import Retry
from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.port import BucketReader, BucketTable, GraphReader, MovingReader, TripleSource
from kgsync.graph.reading import Fetched
from kgsync.graph.rows import Rows, Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex
from kgsync.source.base import Base
from kgsync.source.buckets import (
    BUCKET_DIGITS,
    BUCKETS,
    bucket_marks,
    bucket_names,
    bucket_number,
    bucket_numbers,
    edge_digests,
)
from kgsync.source.reading_costs import ReadingCosts
from kgsync.source.scanning import scan_strictly, source_in_words

__all__ = ["fetch_moving"]

_SAMPLE = 20_000
"""Triples hashed as a sample to measure the speed, if all of them could take long."""
_FRESH_SECONDS = 3600.0
"""How long a measured rate stays valid for a method that is not used."""
_CHANGE = "change"
"""Under this name the costs keep how often a look found a change, as if it were seconds."""
_PARTS = "parts"
"""Under this name they keep that answers mix several moments, so that small parts are needed."""
_DAY = 86400.0


def fetch_moving(
    reader: GraphReader,
    source: TripleSource,
    terms: TermIndex,
    base: Base | None,
    *,
    thorough: bool,
    costs: ReadingCosts,
) -> Fetched:
    """Read a graph that changes in place.

    Args:
        reader: The store.
        source: Where the graph is.
        terms: The ids assigned so far.
        base: The graph as it was read last, if it was.
        thorough: Read all of it.
        costs: Measured costs of the methods; this reading is added.

    Raises:
        TransientStoreError: An answer was not complete, or the graph moves too fast for its store.
    """
    reason = _why_scan(reader, source, base, thorough, costs)
    if reason is None and base is not None:
        try:
            return _by_buckets(cast("BucketReader", reader), source, terms, base, costs)
        except _Dearer as error:
            reason = str(error)
        except StoreError as error:
            reason = f"the store's bucket counts could not be used: {error}"
    found = _whole(reader, source, terms, reason or "there is no earlier version", costs)
    costs.note(_CHANGE, 1, float(base is None or found.edges != base.edges))
    return found


def _why_scan(
    reader: GraphReader,
    source: TripleSource,
    base: Base | None,
    thorough: bool,
    costs: ReadingCosts,
) -> str | None:
    """Why a full scan is needed, or None if counting by buckets is cheaper."""
    if base is None:
        return "there is no earlier version"
    if reader.capabilities.buckets is None:
        return "the graph changes in place, so the earlier version is gone"
    if thorough:
        return "a full scan was due"
    size = base.triples
    if costs.is_older("scan", math.inf):
        return "the cost of counting by buckets is not known yet"
    return _sampled(cast("BucketReader", reader), source, size, costs) or _dearer(size, costs)


def _sampled(
    reader: BucketReader, source: TripleSource, size: int, costs: ReadingCosts
) -> str | None:
    """See from some triples what counting by buckets costs; why that was of no use, if it was."""
    if size <= _SAMPLE or not costs.is_older("buckets", _FRESH_SECONDS):
        return None
    try:
        with costs.measured("buckets", _SAMPLE):
            reader.count_buckets(source, BUCKET_DIGITS, _SAMPLE)
    except StoreError as error:
        if getattr(error, "retry_after", 0.0):
            raise
        costs.note("buckets", 1, _DAY)  # not tried again for a while
        return f"the store's bucket counts could not be used: {error}"
    return None


def _dearer(size: int, costs: ReadingCosts) -> str | None:
    """Why a full scan is cheaper than buckets, if it is."""
    counting = costs.expected("buckets", size)
    reading = costs.expected("bucket scan", size) or counting
    by_buckets = counting + reading * costs.expected(_CHANGE, 1)
    whole = costs.expected("scan", size)
    if whole < by_buckets:
        return f"a full scan takes about {whole:.1f} s, counting by buckets {by_buckets:.1f} s"
    return None


class _Dearer(Exception):  # noqa: N818  # not an error: a choice
    """So much has changed that a full scan is cheaper."""


def _by_buckets(
    reader: BucketReader, source: TripleSource, terms: TermIndex, base: Base, costs: ReadingCosts
) -> Fetched:
    """Read the buckets whose marks differ from those of the base."""
    marks = reader.capabilities.buckets or "ends"
    with costs.measured("buckets", base.triples):
        table = reader.count_buckets(source, BUCKET_DIGITS)
        digests = edge_digests(base.edges, terms)
        own = bucket_marks(digests, marks)
    theirs = {bucket_number(name): mark for name, mark in table.buckets.items()}
    differing = np.zeros(BUCKETS, bool)
    differing[[n for n in own.keys() | theirs.keys() if own.get(n) != theirs.get(n)]] = True
    costs.note(_CHANGE, 1, float(differing.any()))
    edges, extended, skipped = _differing(reader, source, terms, differing, theirs, costs)
    inside = differing[bucket_numbers(digests)]
    before = base.edges.where(inside)
    change = edges.minus(before), before.minus(edges)
    edges = base.edges.where(~inside).plus(edges)
    reason = f"{differing.sum():,} of {BUCKETS:,} buckets differ from what was read last"
    skipped, triples = _skipped(base, skipped, table, len(edges))
    caveat = "" if marks == "sums" else _ENDS
    return Fetched(edges, extended, triples, skipped, "buckets", reason, caveat, change)


def _differing(
    reader: BucketReader,
    source: TripleSource,
    terms: TermIndex,
    differing: np.ndarray[tuple[int], np.dtype[np.bool_]],
    theirs: dict[int, tuple[int, str]],
    costs: ReadingCosts,
) -> tuple[Snapshot, TermIndex, Skipped]:
    """The edges of the buckets that differ."""
    names = bucket_names(differing)
    if not names:
        return Snapshot.empty(), terms, Skipped()
    counts = {name: theirs.get(bucket_number(name), (0, ""))[0] for name in names}
    size = sum(count for count, _ in theirs.values())
    whole = costs.expected("scan", size)
    if whole < costs.expected("bucket scan", size):
        raise _Dearer(
            f"{len(names):,} of {BUCKETS:,} buckets differ, and a full scan takes about "
            f"{whole:.1f} s, reading them {costs.expected('bucket scan', size):.1f} s"
        )
    rows = Rows()
    with costs.measured("bucket scan", size):
        reader.scan_buckets(source, counts, rows.receive)
        edges, extended = rows.edges(terms)
    skipped = rows.skipped()
    if rows.total != len(edges) + skipped.total:
        raise TransientStoreError("an edge was returned twice")
    if not differing[bucket_numbers(edge_digests(edges, extended))].all():
        raise PermanentStoreError("the store's MD5 differs from the standard")
    return edges, extended, skipped


def _skipped(base: Base, read: Skipped, table: BucketTable, edges: int) -> tuple[Skipped, int]:
    """Counts of non-edges and of all triples; non-edges other than invalid IRIs only as a sum.

    An edge with an invalid IRI is in a bucket that always differs, so it was read.
    """
    others = table.triples - sum(count for count, _ in table.buckets.values())
    known = replace(base.skipped, invalid_iris=0)
    literals = known.literals + others - known.total
    found = replace(known, literals=literals) if literals >= 0 else Skipped(others)
    return replace(found, invalid_iris=read.invalid_iris), edges + others + read.invalid_iris


def _whole(
    reader: GraphReader, source: TripleSource, terms: TermIndex, reason: str, costs: ReadingCosts
) -> Fetched:
    """Read all of it: in one answer, in parts if answers mix several moments, then carefully."""
    if not reader.capabilities.moving:
        before = None if reader.capabilities.complete_answers else reader.count(source)
        return scan_strictly(reader, source, terms, before, reason, costs)
    tries = [(False, False), (False, False), (True, False), (False, True), (True, True)]
    if not costs.is_older(_PARTS, _DAY):
        tries = [(True, False), (True, True)]
    moving, each = cast("MovingReader", reader), iter(tries)
    return Retry(len(tries)).call(
        lambda: _moving(moving, source, terms, reason, costs, *next(each))
    )


def _moving(
    reader: MovingReader,
    source: TripleSource,
    terms: TermIndex,
    reason: str,
    costs: ReadingCosts,
    parts: bool,
    careful: bool,
) -> Fetched:
    rows = Rows()
    start = time.perf_counter()
    reader.scan_moving(source, rows.receive, careful=careful, parts=parts)
    edges, extended = rows.edges(terms)
    costs.note("scan", rows.total, time.perf_counter() - start)
    skipped = rows.skipped()
    if rows.total != len(edges) + skipped.total:
        raise TransientStoreError(
            f"{reader.label} returned a triple of {source_in_words(source)} twice; nothing was "
            "committed"
        )
    if parts and not careful:
        costs.note(_PARTS, 1, 1.0)
    return Fetched(edges, extended, rows.total, skipped, "scan", reason)


_ENDS = (
    "the store cannot sum hashes: a change that keeps the number of edges in a bucket, its "
    "smallest and its largest hash is found by the next full scan (full_scan_every)"
)
