"""A live graph read by buckets of a hash is the graph, whatever changed."""

from __future__ import annotations

from hashlib import md5
from typing import get_args

import pyoxigraph as ox
import pytest
from hypothesis import assume, given

from kgsync.errors import TransientStoreError
from kgsync.graph.port import BucketTable, Marks, Receive, TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.buckets import bucket_marks, checksum, edge_digests
from kgsync.source.fetch import Fetched, fetch
from kgsync.source.reading_costs import ReadingCosts
from tests.graph.comparing import Comparing
from tests.graph.graphs import (
    EX,
    OLD,
    Edge,
    as_edges,
    base_of,
    edge_sets,
    edges,
    examples,
    index,
    ntriples,
    oxigraph,
    snapshot,
)

SOURCE = TripleSource(OLD)


def slow() -> ReadingCosts:
    """Costs of a store that takes its time to send a graph."""
    costs = ReadingCosts()
    costs.note("scan", 1, 1000.0)
    return costs


def digest(edge: Edge) -> str:
    parts = "".join(md5(iri.encode()).hexdigest() for iri in edge)
    return md5(parts.encode()).hexdigest()


def store_of(version: frozenset[Edge], literals: int = 0) -> ox.Store:
    names = (f'<{EX}a> <{EX}name> "{n}" .\n' for n in range(literals))
    return oxigraph({OLD: ntriples(version) + "".join(names)})


def before(version: frozenset[Edge], literals: int = 0) -> Fetched:
    return fetch(Comparing(store_of(version, literals)), SOURCE, TermIndex(b"k"), None, live=True)


@pytest.mark.parametrize("marks", get_args(Marks))
@given(edge_sets, edge_sets)
@examples(60)
def test_any_change_is_found(marks: Marks, old: frozenset[Edge], new: frozenset[Edge]) -> None:
    if marks == "ends":
        # Once in thousands, what came and what went share a bucket: the full scan finds that.
        assume(len({digest(edge)[:3] for edge in old ^ new}) == len(old ^ new))
    known = before(old)
    store = Comparing(store_of(new), marks)
    found = fetch(store, SOURCE, known.terms, base_of(known, SOURCE), costs=slow())
    assert found.way == "buckets"
    assert ("next full scan" in found.caveat) == (marks == "ends")
    assert as_edges(found.edges, found.terms) == new
    assert found.triples == len(new)
    assert found.difference == (found.edges.minus(known.edges), known.edges.minus(found.edges))


@given(edge_sets)
@examples(60)
def test_marks_and_checksums_are_those_that_stores_compute(version: frozenset[Edge]) -> None:
    store, terms = Comparing(store_of(version)), index(version)
    own = snapshot(version, terms)
    assert store.checksum(SOURCE) == checksum(own, terms)
    for marks in get_args(Marks):
        found = Comparing(store_of(version), marks).count_buckets(SOURCE, 3)
        theirs = {int(name, 16): mark for name, mark in found.buckets.items()}
        assert theirs == bucket_marks(edge_digests(own, terms), marks)
        assert found.triples == len(version)


def test_a_swap_inside_a_bucket_is_seen_at_once() -> None:
    """Same number of edges, in the same buckets: only the sums tell."""
    names = [f"x{n}" for n in range(200)]
    by_bucket: dict[str, list[Edge]] = {}
    for one in names:
        for other in names:
            edge = (EX + one, EX + "p", EX + other)
            by_bucket.setdefault(digest(edge)[:3], []).append(edge)
    ring = sorted(next(found for found in by_bucket.values() if len(found) > 5), key=digest)
    old, new = frozenset([ring[0], ring[2], ring[5]]), frozenset([ring[0], ring[3], ring[5]])
    known = before(old)
    found = fetch(
        Comparing(store_of(new)), SOURCE, known.terms, base_of(known, SOURCE), costs=slow()
    )
    assert (found.way, as_edges(found.edges, found.terms)) == ("buckets", new)
    # The smallest and the largest hash are the same: such a store needs the full read.
    blind = fetch(
        Comparing(store_of(new), "ends"), SOURCE, known.terms, base_of(known, SOURCE), costs=slow()
    )
    assert as_edges(blind.edges, blind.terms) == old
    assert "full scan" in blind.caveat


def test_only_what_differs_is_read() -> None:
    old, new = edges("a p b", "b p c", "c p d"), edges("a p b", "b p c", "c p e")
    known = before(old)
    store = Comparing(store_of(new))
    fetch(store, SOURCE, known.terms, base_of(known, SOURCE), costs=slow())
    assert sorted(store.asked) == sorted(digest(edge)[:3] for edge in old ^ new)


def test_more_literals_are_no_edges() -> None:
    version = edges("a p b", "b p c")
    known = before(version, literals=2)
    found = fetch(
        Comparing(store_of(version, 5)), SOURCE, known.terms, base_of(known, SOURCE), costs=slow()
    )
    assert as_edges(found.edges, found.terms) == version
    assert (found.skipped.literals, found.triples) == (5, 7)


def test_an_invalid_iri_does_not_keep_buckets_from_being_used() -> None:
    text = ntriples(edges("a p b", "b p c")) + f"<{EX}a b> <{EX}p> <{EX}c> .\n"
    store = oxigraph({OLD: text}, lenient=True)
    known = fetch(Comparing(store), SOURCE, TermIndex(b"k"), None, live=True)
    assert known.skipped.invalid_iris == 1
    store.update(f"INSERT DATA {{ GRAPH <{OLD}> {{ <{EX}c> <{EX}p> <{EX}d> }} }}")
    found = fetch(Comparing(store), SOURCE, known.terms, base_of(known, SOURCE), costs=slow())
    assert found.way == "buckets"
    assert as_edges(found.edges, found.terms) == edges("a p b", "b p c", "c p d")
    assert (found.skipped.invalid_iris, found.triples) == (1, 4)


class Lost(Comparing):
    """The buckets do not come."""

    def scan_buckets(self, source: TripleSource, buckets: dict[str, int], receive: Receive) -> None:
        raise TransientStoreError("2 triples came of 3")


class Strange(Comparing):
    """Edges come that are of other buckets."""

    def scan_buckets(self, source: TripleSource, buckets: dict[str, int], receive: Receive) -> None:
        self.scan(source, receive)


class Uncounted(Comparing):
    """The buckets cannot be counted."""

    def count_buckets(
        self, source: TripleSource, digits: int, at_most: int | None = None
    ) -> BucketTable:
        raise TransientStoreError("the counts of its buckets do not add up to the total")


@pytest.mark.parametrize("broken", [Lost, Strange, Uncounted])
def test_what_does_not_add_up_is_read_whole(broken: type[Comparing]) -> None:
    old, new = edges("a p b", "b p c", "c p d"), edges("a p b", "b p c", "c p e", "d p e")
    known = before(old)
    found = fetch(broken(store_of(new)), SOURCE, known.terms, base_of(known, SOURCE), costs=slow())
    assert as_edges(found.edges, found.terms) == new
    assert found.way == "scan"
    assert "bucket counts could not be used" in found.reason


def test_a_thorough_reading_takes_no_buckets() -> None:
    version = edges("a p b", "b p c")
    known = before(version)
    store = Comparing(store_of(version))
    found = fetch(store, SOURCE, known.terms, base_of(known, SOURCE), thorough=True)
    assert found.way == "scan"


@pytest.mark.parametrize(
    ("scan", "buckets", "bucket_scan", "way"),
    [(1.0, 2.0, 2.0, "scan"), (5.0, 1.0, 1.0, "buckets"), (2.5, 1.0, 4.0, "scan")],
)
def test_the_way_that_has_cost_less_is_taken(
    scan: float, buckets: float, bucket_scan: float, way: str
) -> None:
    old, new = edges("a p b", "b p c", "c p d"), edges("a p b", "b p c", "c p e")
    known = before(old)
    costs = ReadingCosts()
    for name, seconds in (("scan", scan), ("buckets", buckets), ("bucket scan", bucket_scan)):
        costs.note(name, 3, seconds)
    costs.note("change", 1, 0.0)  # the last looks found nothing
    found = fetch(
        Comparing(store_of(new)), SOURCE, known.terms, base_of(known, SOURCE), costs=costs
    )
    assert (found.way, as_edges(found.edges, found.terms)) == (way, new)


def test_costs_travel_as_json_and_anything_else_is_nothing() -> None:
    costs = ReadingCosts()
    costs.note("scan", 100, 2.0)
    costs.note("scan", 100, 4.0)
    again = ReadingCosts(costs.to_json())
    assert again.expected("scan", 10) == costs.expected("scan", 10) == pytest.approx(0.3)
    assert not again.is_older("scan", 60)
    junk: object
    for junk in (None, 7, [], {"rates": 7}, {"rates": {"scan": "x", "buckets": [1]}}):
        assert ReadingCosts(junk).expected("scan", 10) == 0.0
    assert ReadingCosts({"rates": {"scan": [1.0, 1e12]}}).is_older(
        "scan", 60
    )  # measured in the future
