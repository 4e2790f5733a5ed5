"""Reading a version: every reader and both ways lead to the same snapshot."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.graph.port import GraphReader, TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Fetched, fetch
from kgsync.source.reading_costs import ReadingCosts
from tests.graph.comparing import Comparing
from tests.graph.graphs import (
    EX,
    NEW,
    OLD,
    Edge,
    Graphs,
    as_edges,
    base_of,
    edge_sets,
    edges,
    examples,
    index,
    ntriples,
    oxigraph,
    rdflib_dataset,
    snapshot,
)

NOISE = f'<{EX}a> <{EX}name> "A"@en .\n_:x <{EX}p> <{EX}a> .\n'
SCOPE = f"SELECT ?s ?p ?o WHERE {{ GRAPH $graph {{ ?s ?p ?o FILTER(?p != <{EX}q>) }} }}"


@contextmanager
def readers(graphs: Graphs) -> Iterator[dict[str, GraphReader]]:
    """The same graphs in three kinds of store."""
    with tempfile.TemporaryDirectory() as folder:
        oxigraph(graphs, folder).flush()
        opened: dict[str, GraphReader] = {
            "disk": open_store(Path(folder)),
            "memory": open_store(oxigraph(graphs)),
            "rdflib": open_store(rdflib_dataset(graphs)),
        }
        try:
            yield opened
        finally:
            for reader in opened.values():
                reader.close()


def read_both(
    reader: GraphReader, old: TripleSource, new: TripleSource, *, difference: bool
) -> Fetched:
    """The new version, read after the old one, by difference or by scan."""
    first = fetch(reader, old, TermIndex(b"k"), None)
    return fetch(reader, new, first.terms, base_of(first, old) if difference else None)


@examples(8)
@given(edge_sets, st.booleans())
def test_every_reader_gives_the_same_snapshot(version: frozenset[Edge], noise: bool) -> None:
    text = ntriples(version) + (NOISE if noise else "")
    with readers({OLD: text, None: text}) as opened:
        for source in (TripleSource(OLD), TripleSource(None)):
            found = {
                kind: fetch(reader, source, TermIndex(b"k"), None)
                for kind, reader in opened.items()
            }
            memory = found["memory"]
            assert as_edges(memory.edges, memory.terms) == version
            assert memory.triples == len(version) + 2 * noise
            for other in (found["disk"], found["rdflib"]):
                assert other.edges == memory.edges
                assert other.terms.entities.iris.equals(memory.terms.entities.iris)
                assert other.terms.relations.iris.equals(memory.terms.relations.iris)
                assert (other.triples, other.skipped) == (memory.triples, memory.skipped)


@examples(30)
@given(edge_sets, edge_sets, st.booleans(), st.sampled_from([None, SCOPE]))
def test_a_difference_gives_the_same_result_as_a_scan(
    old: frozenset[Edge], new: frozenset[Edge], noise: bool, scope: str | None
) -> None:
    literals = f'<{EX}a> <{EX}name> "old" .\n', f'<{EX}b> <{EX}name> "new" .\n' + NOISE
    texts = [
        ntriples(version) + (extra if noise else "")
        for version, extra in zip((old, new), literals, strict=True)
    ]
    reader = Comparing(oxigraph(dict(zip((OLD, NEW), texts, strict=True))))
    sources = [TripleSource(graph, scope) for graph in (OLD, NEW)]
    difference = read_both(reader, *sources, difference=True)
    scan = read_both(reader, *sources, difference=False)
    # An empty graph does not exist, so there is nothing to start from.
    assert difference.way == ("difference" if texts[0] else "scan")
    assert scan.way == "scan"
    assert difference.edges == scan.edges
    assert difference.terms.entities.iris.equals(scan.terms.entities.iris)
    assert difference.terms.relations.iris.equals(scan.terms.relations.iris)
    assert (difference.triples, difference.skipped) == (scan.triples, scan.skipped)
    if difference.way == "difference" and scope is None:
        before = snapshot(old, difference.terms)
        change = difference.edges.minus(before), before.minus(difference.edges)
        assert difference.difference == change


def test_terms_keep_their_ids_from_fetch_to_fetch() -> None:
    old, new = edges("m p n"), edges("a p n", "m z a")
    reader = open_store(oxigraph({OLD: ntriples(old), NEW: ntriples(new)}))
    found = read_both(reader, TripleSource(OLD), TripleSource(NEW), difference=False)
    assert found.terms.entities.iris.to_pylist() == [EX + "m", EX + "n", EX + "a"]
    assert found.terms.relations.iris.to_pylist() == [EX + "p", EX + "z"]
    assert found.edges == snapshot(new, index(old, new))


def test_a_missing_graph_is_read_as_empty() -> None:
    reader = open_store(oxigraph({OLD: ntriples(edges("a p b"))}))
    found = fetch(reader, TripleSource(NEW), TermIndex(), None)
    assert (len(found.edges), found.triples) == (0, 0)


@pytest.mark.parametrize(("make", "size"), [(oxigraph, 60_000), (rdflib_dataset, 10_500)])
def test_terms_of_many_blocks_are_told_apart(make: Callable[[Graphs], object], size: int) -> None:
    """Long IRIs fill several blocks; most terms occur in more than one of them."""
    tails = f"{EX}{'long/' * 30}"
    version = frozenset(
        (f"{EX}s{i % 7}", f"{EX}p{i % 3}", f"{tails}{i % (size * 3 // 4)}") for i in range(size)
    )
    found = fetch(open_store(make({OLD: ntriples(version)})), TripleSource(OLD), TermIndex(), None)
    assert len(found.edges) == len(version)
    assert as_edges(found.edges, found.terms) == version


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("nothing", "both versions are in the store"),
        ("drop", "graph is gone"),
        ("grow", "has changed since it was read"),
        ("correct", "has changed since it was read"),
    ],
)
def test_a_difference_needs_the_old_graph_as_it_was(change: str, reason: str) -> None:
    old, new = edges("a p b", "b p c"), edges("a p b", "c p d")
    store = oxigraph({OLD: ntriples(old), NEW: ntriples(new)})
    reader = Comparing(store)
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    updates = {
        "nothing": "",
        "drop": f"DROP GRAPH <{OLD}>",
        "grow": f'INSERT DATA {{ GRAPH <{OLD}> {{ <{EX}a> <{EX}p> "literal" }} }}',
        # One triple out, one in; the next version keeps the correction, so no difference shows it.
        "correct": f"""DELETE DATA {{ GRAPH <{OLD}> {{ <{EX}b> <{EX}p> <{EX}c> }} }} ;
            INSERT DATA {{ GRAPH <{OLD}> {{ <{EX}c> <{EX}p> <{EX}d> }} }}""",
    }
    store.update(updates[change])
    found = fetch(reader, TripleSource(NEW), first.terms, base_of(first, TripleSource(OLD)))
    assert reason in found.reason
    assert found.way == ("difference" if change == "nothing" else "scan")
    assert as_edges(found.edges, found.terms) == new


@pytest.mark.parametrize("graph", [OLD, None])
def test_a_graph_that_changes_in_place_is_scanned(graph: str | None) -> None:
    store = oxigraph({graph: ntriples(edges("a p b"))})
    reader, source = open_store(store), TripleSource(graph)
    first = fetch(reader, source, TermIndex(), None)
    extra = f"<{EX}b> <{EX}p> <{EX}c>"
    where = f"GRAPH <{graph}> {{ {extra} }}" if graph else extra
    store.update(f"INSERT DATA {{ {where} }}")
    found = fetch(reader, source, first.terms, base_of(first, source))
    assert (found.way, as_edges(found.edges, found.terms)) == ("scan", edges("a p b", "b p c"))
    assert "changes in place" in found.reason


def test_a_store_without_differences_is_scanned() -> None:
    graphs = {OLD: ntriples(edges("a p b")), NEW: ntriples(edges("b p c"))}
    reader = open_store(rdflib_dataset(graphs))
    found = read_both(reader, TripleSource(OLD), TripleSource(NEW), difference=True)
    assert (found.way, found.reason) == ("scan", "this kind of store cannot compute a difference")


def test_the_first_version_is_scanned() -> None:
    reader = open_store(oxigraph({OLD: ntriples(edges("a p b"))}))
    found = fetch(reader, TripleSource(OLD), TermIndex(), None)
    assert (found.way, found.reason) == ("scan", "there is no earlier version")


def test_a_scope_leaves_out_what_it_does_not_select() -> None:
    old, new = edges("a p b", "a q b"), edges("a p c", "a q c")
    reader = Comparing(oxigraph({OLD: ntriples(old), NEW: ntriples(new)}))
    sources = [TripleSource(graph, SCOPE) for graph in (OLD, NEW)]
    found = read_both(reader, *sources, difference=True)
    assert found.way == "difference"
    assert as_edges(found.edges, found.terms) == edges("a p c")


def test_a_difference_that_cannot_be_checked_says_so_and_is_read_whole_in_time() -> None:
    old, new = edges("a p b", "b p c"), edges("a p b", "c p d")
    reader = Comparing(oxigraph({OLD: ntriples(old), NEW: ntriples(new)}))
    reader.capabilities = replace(reader.capabilities, checksums="none")
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    base = base_of(first, TripleSource(OLD))
    found = fetch(reader, TripleSource(NEW), first.terms, base)
    assert found.way == "difference"
    assert "next full scan" in found.caveat
    whole = fetch(reader, TripleSource(NEW), first.terms, base, thorough=True)
    assert (whole.way, whole.caveat) == ("scan", "")
    assert whole.edges == found.edges


@pytest.mark.parametrize(("name", "way"), [("b", "difference"), ("Zürich", "scan")])
def test_a_checksum_of_ascii_only_is_not_asked_for_others(name: str, way: str) -> None:
    old, new = edges(f"a p {name}"), edges(f"a p {name}", "c p d")
    reader = Comparing(oxigraph({OLD: ntriples(old), NEW: ntriples(new)}))
    reader.capabilities = replace(reader.capabilities, checksums="ascii")
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    base = base_of(first, TripleSource(OLD))
    found = fetch(reader, TripleSource(NEW), first.terms, base, thorough=True)
    assert found.way == way
    assert ("checksum" in reader.asked) == (way == "difference")


def test_what_costs_less_is_taken_a_difference_with_its_check_or_a_full_read() -> None:
    old, new = edges("a p b", "b p c"), edges("a p b", "c p d")
    reader = Comparing(oxigraph({OLD: ntriples(old), NEW: ntriples(new)}))
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    for check, way in ((0.1, "difference"), (3.0, "scan")):
        costs = ReadingCosts()
        for name, seconds in (("scan", 2.0), ("difference", 1.0), ("checksum", check)):
            costs.note(name, 2, seconds)
        base = base_of(first, TripleSource(OLD))
        found = fetch(reader, TripleSource(NEW), first.terms, base, costs=costs)
        assert (found.way, as_edges(found.edges, found.terms)) == (way, new)
        assert costs.expected(way, 2) < 2.0  # what it took has been noted
