"""Reading one version completely, with the cheapest method the store offers, and checking it.

A fixed version is read from recorded changes, from a difference that the store computes, or by a
full scan. For a graph that changes in place, see `kgsync.source.live_reading`.
"""

from __future__ import annotations

from typing import cast

import pyarrow.compute as pc

from kgsync.errors import StoreError, TransientStoreError
from kgsync.graph.port import (
    ChangeReader,
    DifferenceReader,
    GraphReader,
    TripleBatch,
    TripleSource,
)
from kgsync.graph.reading import Fetched, Way
from kgsync.graph.rows import Rows, Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex
from kgsync.source.base import Base
from kgsync.source.buckets import checksum
from kgsync.source.live_reading import fetch_moving
from kgsync.source.reading_costs import ReadingCosts
from kgsync.source.scanning import MovedError, count_after, scan_strictly

__all__ = ["Base", "Fetched", "Way", "fetch"]


def fetch(
    reader: GraphReader,
    source: TripleSource,
    terms: TermIndex,
    base: Base | None,
    *,
    live: bool = False,
    thorough: bool = False,
    costs: ReadingCosts | None = None,
) -> Fetched:
    """Read one version.

    Args:
        reader: The store.
        source: Where the version is.
        terms: The ids assigned so far.
        base: The version read last, if any.
        live: The graph changes in place, also while it is read.
        thorough: Read all of it where a cheaper method could miss something.
        costs: Measured costs of the methods; this reading is added.

    Raises:
        TransientStoreError: The result does not match the store's COUNT, or the graph changed.
    """
    costs = costs or ReadingCosts()
    if base is not None and _has_changes(reader, source, base):
        return _by_changes(cast("ChangeReader", reader), source, terms, base)
    if live or (base is not None and base.source.graph == source.graph):
        return fetch_moving(reader, source, terms, base, thorough=thorough, costs=costs)
    # An answer that cannot be half needs one count, afterwards; it also tells of a change.
    before = None if reader.capabilities.complete_answers else reader.count(source)
    reason = _why_scan(reader, terms, base, thorough, costs)
    if reason is None and base is not None:
        try:
            differing = cast("DifferenceReader", reader)
            return _by_difference(differing, source, terms, base, before, costs)
        except MovedError:
            raise
        except StoreError as error:
            reason = f"the store's difference could not be used: {error}"
    return scan_strictly(reader, source, terms, before, reason or "first version", costs)


def _why_scan(
    reader: GraphReader, terms: TermIndex, base: Base | None, thorough: bool, costs: ReadingCosts
) -> str | None:
    """Why a full scan is needed, or None if there is a cheaper method."""
    able = reader.capabilities
    if base is None:
        return "there is no earlier version"
    if not able.difference:
        return "this kind of store cannot compute a difference"
    if base.source.graph is not None and base.source.graph not in reader.graphs():
        return "the earlier version's graph is gone"
    checked = _can_check(reader, base, terms)
    if thorough and not checked:
        return "a full scan was due"
    check = costs.expected("checksum", base.triples) if checked else 0.0
    difference = costs.expected("difference", base.triples) + check
    if costs.expected("scan", base.triples) < difference:
        return "a full scan costs less than a difference and a check of the earlier version"
    return None


def _can_check(reader: GraphReader, base: Base, terms: TermIndex) -> bool:
    """Whether the store can confirm that the earlier version is unchanged."""
    able = reader.capabilities.checksums
    if base.skipped.invalid_iris:  # an edge for the store, and none for us
        return False
    return able == "all" or (able == "ascii" and _is_ascii(base, terms))


def _is_ascii(base: Base, terms: TermIndex) -> bool:
    edges = base.edges
    names = terms.entities.names(edges.entities), terms.relations.names(edges.relation_ids)
    return all(pc.all(pc.string_is_ascii(iris)).as_py() is not False for iris in names)


def _by_difference(
    reader: DifferenceReader,
    source: TripleSource,
    terms: TermIndex,
    base: Base,
    before: int | None,
    costs: ReadingCosts,
) -> Fetched:
    """Apply the store's difference to the base, if the base is unchanged."""
    added, deleted = Rows(), Rows()
    with costs.measured("difference", base.triples):
        for new, old, rows in ((source, base.source, added), (base.source, source, deleted)):
            reader.scan_difference(new, old, rows.receive)
            if not reader.capabilities.complete_answers and (
                rows.total != reader.count_difference(new, old)
            ):
                raise TransientStoreError("it is incomplete")
    # This also says whether the earlier graph still has as many triples, without a count of it.
    triples = base.triples + added.total - deleted.total
    if triples != count_after(reader, source, before):
        raise TransientStoreError(
            "its counts do not match: probably the earlier graph has changed since it was read"
        )
    checked = _can_check(reader, base, terms)
    if checked:
        with costs.measured("checksum", base.triples):
            found = reader.checksum(base.source)
        if found != checksum(base.edges, terms):
            raise TransientStoreError("the earlier version's graph has changed since it was read")
    added_edges, extended = added.edges(terms)
    deleted_edges, _ = deleted.edges(extended)
    if len(deleted_edges.minus(base.edges)) or len(added_edges.minus(base.edges)) != len(
        added_edges
    ):
        raise TransientStoreError("it does not match the last snapshot")
    return Fetched(
        base.edges.changed(deleted_edges, added_edges),
        extended,
        triples,
        base.skipped.plus(added.skipped()).plus(deleted.skipped(), -1),
        "difference",
        "both versions are in the store and the earlier one is unchanged"
        if checked
        else "both versions are in the store",
        "" if checked else _UNCHECKED,
        (added_edges, deleted_edges),
    )


_UNCHECKED = (
    "the store cannot confirm that the earlier version is unchanged: a triple that was "
    "corrected there in place is found by the next full scan (full_scan_every)"
)


def _has_changes(reader: GraphReader, source: TripleSource, base: Base) -> bool:
    able = reader.capabilities.changes
    return able and cast("ChangeReader", reader).has_changes(source, base.source)


def _by_changes(
    reader: ChangeReader, source: TripleSource, terms: TermIndex, base: Base
) -> Fetched:
    """Apply the recorded changes in order."""
    steps: list[tuple[str, Rows]] = []

    def receive(kind: str, batch: TripleBatch | None) -> None:
        if not steps or steps[-1][0] != kind:
            steps.append((kind, Rows()))
        if batch is not None:
            steps[-1][1].receive(batch)

    reader.scan_changes(source, base.source, receive)
    skipped, cleared = base.skipped, False
    touched = present = Snapshot.empty()  # edges of the changes, and those that are left of them
    for kind, rows in steps:
        changed, terms = rows.edges(terms)
        if kind == "clear":
            skipped, cleared, touched, present = Skipped(), True, Snapshot.empty(), Snapshot.empty()
            continue
        touched = touched.plus(changed)
        if kind == "remove":
            present, skipped = present.minus(changed), skipped.plus(rows.skipped(), -1)
        else:
            present, skipped = present.plus(changed), skipped.plus(rows.skipped())
    # Only edges are kept, so a literal that is removed twice is counted twice.
    skipped = Skipped(*(max(0, count) for count in vars(skipped).values()))
    reason = "all changes since the earlier version are recorded"
    if cleared:  # all edges may have changed
        edges, difference = present, None
    else:
        # An edge that was removed and added again is no change.
        added, deleted = present.minus(base.edges), touched.minus(present).within(base.edges)
        edges, difference = base.edges.changed(deleted, added), (added, deleted)
    total = len(edges) + skipped.total
    return Fetched(edges, terms, total, skipped, "changes", reason, difference=difference)
