"""Reading one version completely, in the cheapest way the store offers, and checking it.

A version that stays as it is: by the changes that somebody wrote down, by the difference that the
store computes, or all of it. A graph that changes in place: see `kgsync.source.moving`.
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
from kgsync.source.costs import Costs
from kgsync.source.moving import fetch_moving
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
    costs: Costs | None = None,
) -> Fetched:
    """Read one version.

    Args:
        reader: The store.
        source: Where the version is.
        terms: The ids given so far.
        base: The version read last, if any.
        live: The graph changes in place, also while it is read.
        thorough: Read all of it where a cheaper way could miss something.
        costs: What the ways have cost so far; what this one costs is noted.

    Raises:
        TransientStoreError: What arrived is not what the store counted, or it moved meanwhile.
    """
    costs = costs or Costs()
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
            reason = f"the store's difference was of no use: {error}"
    return scan_strictly(reader, source, terms, before, reason or "first version", costs)


def _why_scan(
    reader: GraphReader, terms: TermIndex, base: Base | None, thorough: bool, costs: Costs
) -> str | None:
    """Why all has to be read, or None if there is a cheaper way."""
    able = reader.capabilities
    if base is None:
        return "there is no earlier version"
    if not able.difference:
        return "this kind of store computes no difference"
    if base.source.graph is not None and base.source.graph not in reader.graphs():
        return "the earlier version's graph is gone"
    checked = _can_check(reader, base, terms)
    if thorough and not checked:
        return "it was time to read all of it"
    check = costs.expected("checksum", base.triples) if checked else 0.0
    difference = costs.expected("difference", base.triples) + check
    if costs.expected("scan", base.triples) < difference:
        return "it costs less than a difference and the check of the earlier version"
    return None


def _can_check(reader: GraphReader, base: Base, terms: TermIndex) -> bool:
    """Whether the store can show that the earlier version is still what was read."""
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
    costs: Costs,
) -> Fetched:
    """Apply the store's difference to the base, if that still is what was read."""
    added, deleted = Rows(), Rows()
    with costs.measured("difference", base.triples):
        for new, old, rows in ((source, base.source, added), (base.source, source, deleted)):
            reader.scan_difference(new, old, rows.receive)
            if not reader.capabilities.complete_answers and (
                rows.total != reader.count_difference(new, old)
            ):
                raise TransientStoreError("it came incompletely")
    # This also says whether the earlier graph still has as many triples, without a count of it.
    triples = base.triples + added.total - deleted.total
    if triples != count_after(reader, source, before):
        raise TransientStoreError(
            "it does not add up, as if the earlier version's graph has changed since it was read"
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
        raise TransientStoreError("it does not agree with the last snapshot")
    return Fetched(
        base.edges.minus(deleted_edges).plus(added_edges),
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
    "the store cannot show that the earlier version is still what was read: a triple that was "
    "corrected there in place is found at the next full read (full_scan_every)"
)


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
