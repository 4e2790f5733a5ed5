"""A live graph read by buckets of a hash is the graph, whatever changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import md5

import pytest
from hypothesis import assume, given

from kgsync.adapters.columns import push_rows
from kgsync.adapters.oxigraph import OxigraphStore
from kgsync.graph.fetch import Fetched, fetch
from kgsync.graph.port import Receive, TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from tests.graph.graphs import (
    EX,
    OLD,
    Edge,
    as_edges,
    base_of,
    edge_sets,
    edges,
    examples,
    ntriples,
    oxigraph,
)

SOURCE = TripleSource(OLD)


def digest(edge: Edge) -> str:
    parts = "".join(md5(iri.encode()).hexdigest() for iri in edge)
    return md5(parts.encode()).hexdigest()


class Bucketed(OxigraphStore):
    """An embedded store that also counts by buckets, as an endpoint does."""

    def __init__(self, version: frozenset[Edge], literals: int = 0, broken: str = "") -> None:
        names = (f'<{EX}a> <{EX}name> "{n}" .\n' for n in range(literals))
        store = oxigraph({OLD: ntriples(version) + "".join(names)})
        super().__init__(store, "a store", owned=False)
        self.capabilities = replace(self.capabilities, buckets=True, complete_answers=False)
        self._version, self._broken = sorted(version), broken

    def count_buckets(self, source: TripleSource, digits: int) -> dict[str, int]:
        version = self._version[1:] if self._broken == "counts" else self._version
        return dict(Counter(digest(edge)[:digits] for edge in version))

    def scan_buckets(self, source: TripleSource, buckets: list[str], receive: Receive) -> None:
        chosen = [edge for edge in self._version if digest(edge)[:3] in buckets]
        if self._broken == "rows":
            chosen = chosen[1:]
        push_rows(((f"<{s}>", f"<{p}>", f"<{o}>") for s, p, o in chosen), receive)


def before(version: frozenset[Edge], literals: int = 0) -> Fetched:
    return fetch(Bucketed(version, literals), SOURCE, TermIndex(b"k"), None)


@given(edge_sets, edge_sets)
@examples(100)
def test_any_change_that_a_count_shows_is_found(old: frozenset[Edge], new: frozenset[Edge]) -> None:
    # Once in thousands, what came and what went share a bucket: that waits for `read_whole`.
    assume(len({digest(edge)[:3] for edge in old ^ new}) == len(old ^ new))
    known = before(old)
    found = fetch(Bucketed(new), SOURCE, known.terms, base_of(known, SOURCE))
    assert found.way == "buckets"
    assert as_edges(found.edges, found.terms) == new
    assert found.triples == len(new)


def test_only_what_differs_is_read() -> None:
    old, new = edges("a p b", "b p c", "c p d"), edges("a p b", "b p c", "c p e")
    known = before(old)
    store = Bucketed(new)
    asked: list[str] = []
    scan = store.scan_buckets

    def noted(source: TripleSource, buckets: list[str], receive: Receive) -> None:
        asked.extend(buckets)
        scan(source, buckets, receive)

    store.scan_buckets = noted  # type: ignore[method-assign]
    fetch(store, SOURCE, known.terms, base_of(known, SOURCE))
    assert sorted(asked) == sorted(digest(edge)[:3] for edge in old ^ new)


def test_more_literals_are_no_edges() -> None:
    version = edges("a p b", "b p c")
    known = before(version, literals=2)
    found = fetch(Bucketed(version, 5), SOURCE, known.terms, base_of(known, SOURCE))
    assert as_edges(found.edges, found.terms) == version
    assert (found.skipped.literals, found.triples) == (5, 7)


@pytest.mark.parametrize("broken", ["counts", "rows"])
def test_what_does_not_add_up_is_read_whole(broken: str) -> None:
    old, new = edges("a p b", "b p c", "c p d"), edges("a p b", "b p c", "c p e", "d p e")
    known = before(old)
    found = fetch(Bucketed(new, broken=broken), SOURCE, known.terms, base_of(known, SOURCE))
    assert as_edges(found.edges, found.terms) == new
    assert found.way == "scan"
    assert "count by buckets was of no use" in found.reason


def test_a_thorough_reading_takes_no_buckets() -> None:
    version = edges("a p b", "b p c")
    known = before(version)
    found = fetch(
        open_store(Bucketed(version)), SOURCE, known.terms, base_of(known, SOURCE), thorough=True
    )
    assert found.way == "scan"
