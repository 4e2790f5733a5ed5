"""Reading one version completely: stream it, or let the store compute the difference; check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphReader, TripleBatch, TripleSource
from kgsync.graph.snapshot import KeyLayout, Snapshot
from kgsync.graph.terms import Ids, TermIndex

__all__ = ["Base", "Fetched", "Skipped", "fetch"]

_LITERAL, _BLANK, _INVALID, _QUOTED = -1, -2, -3, -4
_WAITING_BYTES = 1 << 22
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
    # An answer that cannot be half needs one count, afterwards; it also tells of a change.
    before = None if reader.capabilities.complete_answers else reader.count(source)
    reason = _why_scan(reader, source, base)
    if reason is None and base is not None:
        try:
            return _by_difference(reader, source, terms, base, before)
        except TransientStoreError as error:
            reason = f"the store's difference was of no use: {error}"
    reason = reason or "first version"
    try:
        return _by_scan(reader, source, terms, before, reason, careful=False)
    except TransientStoreError:
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
    rows = _Rows()
    reader.scan(source, rows.receive, careful=careful)
    edges, extended = rows.edges(terms)
    skipped = rows.skipped()
    # A row that came twice must not stand for one that did not come.
    distinct = len(edges) + sum(vars(skipped).values())
    triples = _count_after(reader, source, before)
    if not rows.total == distinct == triples:
        received = distinct if rows.total == triples else rows.total
        raise TransientStoreError(
            f"{reader.label} sent {received:,} of {triples:,} triples of {_named(source)}; "
            "nothing was committed, try again"
        )
    return Fetched(edges, extended, triples, skipped, "scan", reason)


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
    return None


def _by_difference(
    reader: GraphReader, source: TripleSource, terms: TermIndex, base: Base, before: int | None
) -> Fetched:
    """Apply the store's difference to the base."""
    added, deleted = _Rows(), _Rows()
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


def _count_after(reader: GraphReader, source: TripleSource, before: int | None) -> int:
    """The store's own count, by which what arrived is judged: never learn from half a graph."""
    after = reader.count(source)
    if before not in (None, after):
        raise TransientStoreError(
            f"{_named(source)} in {reader.label} changed while it was read "
            f"({before:,} triples before, {after:,} after); try again when it is at rest"
        )
    return after


def _named(source: TripleSource) -> str:
    return f"<{source.graph}>" if source.graph else "the default graph"


class _Rows:
    """Collects streamed triples as columns of numbers; the terms never become Python objects."""

    def __init__(self) -> None:
        self.total = 0
        self._waiting: list[TripleBatch] = []
        self._entities, self._relations = _Vocabulary(), _Vocabulary()
        self._columns = [(np.empty(0, np.int32),) * 3]
        self._skipped = np.zeros(5, np.int64)

    def receive(self, batch: TripleBatch) -> None:
        if not batch.num_rows:
            return
        self.total += batch.num_rows
        self._waiting.append(batch)
        # Numbering passes over all known terms again, so as many wait until it is worth it.
        waiting = sum(batch.nbytes for batch in self._waiting)
        if waiting >= max(_WAITING_BYTES, self._entities.terms.nbytes):
            self._number()

    def skipped(self) -> Skipped:
        self._number()
        return Skipped(
            *(int(self._skipped[-code]) for code in (_LITERAL, _BLANK, _INVALID, _QUOTED))
        )

    def edges(self, terms: TermIndex) -> tuple[Snapshot, TermIndex]:
        """The edges under ids of an index extended by their terms; the rows are used up."""
        self._number()
        entities, predicates = self._entities.iris(), self._relations.iris()
        terms = terms.extended(
            _occurring(entities, (ids for h, _, t in self._columns for ids in (h, t))),
            _occurring(predicates, (ids for _, ids, _ in self._columns)),
        )
        entity_ids, relation_ids = terms.entities.ids(entities), terms.relations.ids(predicates)
        _release()
        layout = KeyLayout.for_sizes(*terms.sizes)
        keys = np.concatenate(
            [
                layout.pack(entity_ids[h], relation_ids[r], entity_ids[t])
                for h, r, t in self._columns
            ]
        )
        self._columns.clear()
        return Snapshot.of_keys(layout, keys), terms

    def _number(self) -> None:
        if not self._waiting:
            return
        heads, predicates, tails = zip(*(b.columns for b in self._waiting), strict=True)
        self._waiting.clear()
        head, tail = np.split(self._entities.numbers([*heads, *tails]), 2)
        relation = self._relations.numbers(predicates)
        # A skipped row counts once, for its object first: that is where literals are.
        reason = np.where(tail < 0, tail, np.where(head < 0, head, relation))
        edge = reason >= 0
        self._skipped += np.bincount(-reason[~edge], minlength=5)
        self._columns.append((head[edge], relation[edge], tail[edge]))
        _release()


class _Vocabulary:
    """Numbers the valid IRIs of a stream in the order of their arrival."""

    def __init__(self) -> None:
        self.terms = pa.array([], pa.string())

    def numbers(self, columns: Sequence[Any]) -> Ids:
        """The rows of columns, one after the other, as numbers; a reason where there is none."""
        known = len(self.terms)
        texts = pa.chunked_array([self.terms, *(column.dictionary for column in columns)])
        encoded = texts.dictionary_encode().chunks[-len(columns) :]  # empty chunks are left out
        terms = encoded[0].dictionary
        numbers = np.arange(len(terms), dtype=np.int32)
        valid = np.asarray(pc.match_substring_regex(terms[known:], _VALID_IRI))
        numbers[known:] = np.where(valid, known + np.cumsum(valid) - 1, _reasons(terms[known:]))
        self.terms = terms.filter(pa.array(numbers >= 0))
        pairs = zip(encoded, columns, strict=True)
        return np.concatenate([numbers[_indices(e)[_indices(c)]] for e, c in pairs])

    def iris(self) -> Any:
        """The terms by number, brackets off."""
        return pc.utf8_slice_codeunits(self.terms, 1, -1)


def _indices(column: Any) -> Ids:
    return np.asarray(column.indices)


def _reasons(terms: Any) -> Ids:
    """Why each term is no edge's, if it is not a valid IRI."""
    reasons = np.full(len(terms), _LITERAL, np.int32)
    for start, reason in (("_:", _BLANK), ("<", _INVALID), ("<<", _QUOTED)):
        reasons[np.asarray(pc.starts_with(terms, start))] = reason
    return reasons


def _release() -> None:
    """Give the memory of dropped tables back: Arrow would keep it for later, several times over."""
    pa.default_memory_pool().release_unused()


def _occurring(iris: Any, columns: Iterable[Ids]) -> Any:
    """The IRIs whose numbers are in the columns: one that is only in skipped rows gets no id."""
    occurs = np.zeros(len(iris), bool)
    for column in columns:
        occurs[column] = True
    return iris if occurs.all() else iris.filter(pa.array(occurs))
