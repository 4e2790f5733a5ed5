"""Reading one version completely: stream it, or let the store compute the difference; check."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphReader, TripleBatch, TripleSource
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import Ids, TermIndex

__all__ = ["Base", "Fetched", "Skipped", "fetch"]

_LITERAL, _BLANK, _INVALID, _QUOTED = -1, -2, -3, -4
_VALID_IRI = r"^<[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|\\^`]*>$"


@dataclass(frozen=True)
class Skipped:
    """Triples of a version that cannot be edges, by reason. Each is counted once."""

    literals: int = 0
    blank_nodes: int = 0
    invalid_iris: int = 0
    quoted_triples: int = 0

    def plus(self, other: Skipped, sign: int = 1) -> Skipped:
        """These counts with others added or taken away."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Skipped(*(a + sign * b for a, b in pairs))


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
    way: Literal["scan", "difference"]
    reason: str
    """Why that way was taken, for the plan."""


def fetch(
    reader: GraphReader, source: TripleSource, terms: TermIndex, base: Base | None
) -> Fetched:
    """Read one version.

    Args:
        reader: The store.
        source: Where the version is.
        terms: The ids given so far.
        base: The version read last, if any.

    Raises:
        TransientStoreError: What arrived is not what the store counted, or it moved meanwhile.
    """
    expected = reader.count(source)
    reason = _why_scan(reader, source, base)
    if reason is None and base is not None:
        try:
            return _by_difference(reader, source, terms, base, expected)
        except TransientStoreError as error:
            reason = f"the store's difference was of no use: {error}"
    try:
        rows = _scan(reader, source, expected, careful=False)
    except TransientStoreError:
        rows = _scan(reader, source, expected, careful=True)
    edges, extended = rows.edges(terms)
    return Fetched(edges, extended, expected, rows.skipped(), "scan", reason or "first version")


def _scan(reader: GraphReader, source: TripleSource, expected: int, *, careful: bool) -> _Rows:
    rows = _Rows()
    reader.scan(source, rows.receive, careful=careful)
    _check(reader, source, rows.total, expected)
    return rows


def _why_scan(reader: GraphReader, source: TripleSource, base: Base | None) -> str | None:
    """Why the store's difference cannot be used, or None if it can."""
    if base is None:
        return "there is no earlier version"
    if not reader.capabilities.difference:
        return "this kind of store computes no difference"
    if base.source.graph == source.graph:
        return "the graph changes in place, so the earlier version is gone"
    if base.source.graph is not None and base.source.graph not in reader.graphs():
        return "the earlier version's graph is gone"
    if reader.count(base.source) != base.triples:
        return "the earlier version's graph has changed since it was read"
    return None


def _by_difference(
    reader: GraphReader, source: TripleSource, terms: TermIndex, base: Base, expected: int
) -> Fetched:
    """Apply the store's difference to the base."""
    added, deleted = _Rows(), _Rows()
    with ThreadPoolExecutor(2 if reader.capabilities.concurrent_reads else 1) as pool:
        directions = ((source, base.source, added), (base.source, source, deleted))
        running = [
            pool.submit(reader.scan_difference, new, old, rows.receive)
            for new, old, rows in directions
        ]
        for direction in running:
            direction.result()
    _check(reader, source, base.triples + added.total - deleted.total, expected)
    added_edges, extended = added.edges(terms)
    deleted_edges, _ = deleted.edges(extended)
    if len(deleted_edges.minus(base.edges)) or len(added_edges.minus(base.edges)) != len(
        added_edges
    ):
        raise TransientStoreError("it does not agree with the last snapshot")
    return Fetched(
        base.edges.minus(deleted_edges).plus(added_edges),
        extended,
        expected,
        base.skipped.plus(added.skipped()).plus(deleted.skipped(), -1),
        "difference",
        "both versions are in the store and the earlier one is unchanged",
    )


def _check(reader: GraphReader, source: TripleSource, received: int, expected: int) -> None:
    """Never learn from half a graph: the rows must be as many as counted, before and after."""
    after = reader.count(source)
    if received == expected == after:
        return
    where = f"<{source.graph}>" if source.graph else "the default graph"
    if expected != after:
        raise TransientStoreError(
            f"{where} in {reader.label} changed while it was read "
            f"({expected:,} triples before, {after:,} after); try again when it is at rest"
        )
    raise TransientStoreError(
        f"{reader.label} sent {received:,} of {expected:,} triples of {where}; "
        "nothing was committed, try again"
    )


class _Rows:
    """Collects streamed triples as id columns; only distinct terms become Python objects."""

    def __init__(self) -> None:
        self.total = 0
        self._entities: dict[str, int] = {}
        self._relations: dict[str, int] = {}
        self._columns: list[tuple[Ids, Ids, Ids]] = []
        self._skipped = np.zeros(5, np.int64)

    def receive(self, batch: TripleBatch) -> None:
        self.total += batch.num_rows
        heads = _codes(batch.column(0), self._entities)
        relations = _codes(batch.column(1), self._relations)
        tails = _codes(batch.column(2), self._entities)
        # A skipped row counts once, for its object first: that is where literals are.
        reason = np.where(tails < 0, tails, np.where(heads < 0, heads, relations))
        edge = reason >= 0
        self._skipped += np.bincount(-reason[~edge], minlength=5)
        self._columns.append((heads[edge], relations[edge], tails[edge]))

    def skipped(self) -> Skipped:
        return Skipped(
            *(int(self._skipped[-code]) for code in (_LITERAL, _BLANK, _INVALID, _QUOTED))
        )

    def edges(self, terms: TermIndex) -> tuple[Snapshot, TermIndex]:
        """The edges under ids of an index that has been extended by their terms."""
        none = (np.empty(0, np.int32),) * 3
        heads, relations, tails = (
            np.concatenate(c) for c in zip(none, *self._columns, strict=True)
        )
        self._columns.clear()
        # Terms that only occur in skipped rows get no id.
        entities, heads_tails = _used(self._entities, heads, tails)
        predicates, (relations,) = _used(self._relations, relations)
        terms = terms.extended(entities, predicates)
        entity_ids, relation_ids = terms.entities.ids(entities), terms.relations.ids(predicates)
        heads, tails = (entity_ids[column] for column in heads_tails)
        return Snapshot.of(heads, relation_ids[relations], tails), terms


def _codes(column: Any, known: dict[str, int]) -> Ids:
    """Running numbers of a column's IRIs; a negative reason where a term is no valid IRI."""
    terms = column.dictionary
    codes = np.full(len(terms), _LITERAL, np.int32)
    codes[np.asarray(pc.starts_with(terms, "_:"))] = _BLANK
    codes[np.asarray(pc.starts_with(terms, "<"))] = _INVALID
    codes[np.asarray(pc.starts_with(terms, "<<"))] = _QUOTED
    valid = np.flatnonzero(np.asarray(pc.match_substring_regex(terms, _VALID_IRI)))
    names = terms.take(pa.array(valid)).to_pylist()
    codes[valid] = [known.setdefault(name, len(known)) for name in names]
    rows: Ids = codes[np.asarray(column.indices)]
    return rows


def _used(known: dict[str, int], *columns: Ids) -> tuple[Any, list[Ids]]:
    """The terms that occur in the columns, brackets off, and the columns numbered over those."""
    names = pc.utf8_slice_codeunits(pa.array(known, pa.string()), 1, -1)
    used = np.unique(np.concatenate(columns))
    renumber = np.zeros(len(known), np.int32)
    renumber[used] = np.arange(len(used), dtype=np.int32)
    return names.take(pa.array(used)), [renumber[column] for column in columns]
