"""Reading all of a version, which has to be what the store counts before and after."""

from __future__ import annotations

import time

from kgsync.common.retrying import Retry
from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphReader, TripleSource
from kgsync.graph.reading import Fetched
from kgsync.graph.rows import Rows
from kgsync.graph.terms import TermIndex
from kgsync.source.reading_costs import ReadingCosts

__all__ = ["MovedError", "count_after", "scan_strictly", "source_in_words"]


class MovedError(TransientStoreError):
    """The graph changed while it was read: what was counted before holds no more."""


def scan_strictly(
    reader: GraphReader,
    source: TripleSource,
    terms: TermIndex,
    before: int | None,
    reason: str,
    costs: ReadingCosts,
) -> Fetched:
    """Read all of a version that must not move.

    Args:
        reader: The store.
        source: Where the version is.
        terms: The ids given so far.
        before: How many triples the store has counted; None if its answers cannot be half.
        reason: Why all is read.
        costs: Learns what it takes.

    Raises:
        TransientStoreError: What arrived is not what the store counted, or it moved meanwhile.
    """
    # An endpoint's limit on rows is seen when an answer is short twice; then it sends parts.
    plain = 1 if reader.capabilities.complete_answers else 3
    careful = iter([False] * plain + [True])
    return Retry(plain + 1, never=(MovedError,)).call(
        lambda: _scanned(reader, source, terms, before, reason, costs, careful=next(careful))
    )


def _scanned(
    reader: GraphReader,
    source: TripleSource,
    terms: TermIndex,
    before: int | None,
    reason: str,
    costs: ReadingCosts,
    *,
    careful: bool,
) -> Fetched:
    rows = Rows()
    start = time.perf_counter()
    reader.scan(source, rows.receive, careful=careful)
    edges, extended = rows.edges(terms)
    costs.note("scan", rows.total, time.perf_counter() - start)
    skipped = rows.skipped()
    # A row that came twice must not stand for one that did not come.
    distinct = len(edges) + skipped.total
    triples = count_after(reader, source, before)
    if not rows.total == distinct == triples:
        received = distinct if rows.total == triples else rows.total
        raise TransientStoreError(
            f"{reader.label} sent {received:,} of {triples:,} triples of "
            f"{source_in_words(source)}; nothing was committed, try again"
        )
    return Fetched(edges, extended, triples, skipped, "scan", reason)


def count_after(reader: GraphReader, source: TripleSource, before: int | None) -> int:
    """The store's own count, by which what arrived is judged: never learn from half a graph.

    Raises:
        MovedError: It is another one than before.
    """
    after = reader.count(source)
    if before not in (None, after):
        raise MovedError(
            f"{source_in_words(source)} in {reader.label} changed while it was read "
            f"({before:,} triples before, {after:,} after); try again when it no longer changes"
        )
    return after


def source_in_words(source: TripleSource) -> str:
    """A source in messages."""
    return f"<{source.graph}>" if source.graph else "the default graph"
