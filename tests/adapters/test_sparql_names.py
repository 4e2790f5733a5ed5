"""Endpoints with a limit on rows, and terms that cannot stand in a query: all triples arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgsync import queries
from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import PermanentStoreError
from kgsync.graph.port import TripleBatch, TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import fetch
from tests.adapters.kinds import endpoint_of
from tests.graph.graphs import EX, as_edges, rows_of
from tests.servers import faults
from tests.servers.proxy import FaultProxy, Rule
from tests.servers.server import Server

GRAPH = EX + "strange"
SOURCE = TripleSource(GRAPH)
MOST = 100
ProxyTo = Callable[[Server], FaultProxy]

INVALID = ["a b", "ü b", "日本|x", "{x}", 'q"q', "b\\b", "<x", "^", "`"]
"""No IRIs at all: N-Triples can only write them with escapes."""
DOUBTFUL = ["[x]", "%zz", "a\u2028b", "two#x#y", "cut%"]
"""SPARQL allows them; Jena's parser does not."""


def written(name: str) -> str:
    """An IRI in N-Triples, whatever is in it."""
    escaped = (f"\\u{ord(c):04X}" if c in ' |{}"\\<>^`' else c for c in name)
    return f"<{EX}{''.join(escaped)}>"


def triple(s: str, p: str, o: str) -> str:
    return f"{written(s)} {written(p)} {written(o)} .\n"


def graphs(names: list[str]) -> dict[str, tuple[str, int]]:
    """Graphs with these names where an endpoint wants them named, and their number of edges."""
    plain = "".join(triple(f"s{i}", "p", f"o{i % 7}") for i in range(150))
    return {
        "subjects": (
            plain + "".join(triple(name, "p", f"o{i}") for name in names for i in range(3)),
            150,
        ),
        "predicates": (
            plain + "".join(triple(f"s{i}", name, "o") for name in names for i in range(3)),
            150,
        ),
        "large subjects": (
            plain + "".join(triple(name, "p", f"o{i}") for name in names[:3] for i in range(130)),
            150,
        ),
        "large predicates": (
            plain + "".join(triple(f"s{i}", n, f"o{i}") for n in names[:3] for i in range(130)),
            150,
        ),
        "a page of subjects": (
            plain + "".join(triple(f"a{names[0]}{i}", "p", "o") for i in range(250)),
            150,
        ),
        "a page of predicates": (
            plain + "".join(triple("s", f"a{names[0]}{i}", "o") for i in range(250)),
            150,
        ),
    }


def fetched(server: Server, text: str, **options: Any) -> Any:
    server.clear()
    server.load(GRAPH, text)
    store = SparqlStore(endpoint_of(server, **{"max_rows": MOST, "retries": 0, **options}))
    return fetch(store, SOURCE, TermIndex(b"k"), None)


@pytest.mark.parametrize("name", graphs(INVALID))
@pytest.mark.parametrize("kind", ["virtuoso", "jena"])
def test_triples_with_terms_that_are_no_iris_are_counted_as_such(
    request: pytest.FixtureRequest, kind: str, name: str
) -> None:
    text, valid = graphs(INVALID)[name]
    found = fetched(request.getfixturevalue(kind), text)
    assert len(as_edges(found.edges, found.terms)) == valid
    assert found.skipped.invalid_iris == text.count("\n") - valid
    assert found.triples == text.count("\n")


@pytest.mark.parametrize("name", graphs(DOUBTFUL))
@pytest.mark.parametrize("kind", ["virtuoso", "jena"])
def test_triples_with_iris_that_a_parser_refuses_arrive(
    request: pytest.FixtureRequest, kind: str, name: str
) -> None:
    text, _ = graphs(DOUBTFUL)[name]
    found = fetched(request.getfixturevalue(kind), text)
    assert len(as_edges(found.edges, found.terms)) == text.count("\n") == found.triples


def refusing(proxy: FaultProxy, iri: str) -> None:
    """Have a server refuse every query that names an IRI."""
    proxy.program(Rule(faults.status(400, b"this IRI is not to our taste"), contains=f"<{iri}>"))


@pytest.mark.parametrize("refused", ["s0", "s42", "s99", "p", "hub", "q"])
@pytest.mark.parametrize("kind", ["oxigraph_server", "virtuoso"])
def test_terms_that_the_endpoint_refuses_to_have_named_are_fetched_without(
    request: pytest.FixtureRequest, proxy_to: ProxyTo, kind: str, refused: str
) -> None:
    server: Server = request.getfixturevalue(kind)
    server.clear()
    text = "".join(triple(f"s{i}", "p", f"o{i % 7}") for i in range(350))
    text += "".join(triple("hub", "p", f"o{i}") for i in range(130)) + triple("a", "q", "b")
    text += f"_:b {written('p')} {written('o')} .\n"
    server.load(GRAPH, text)
    proxy = proxy_to(server)
    refusing(proxy, EX + refused)
    store = SparqlStore(endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST))
    batches: list[TripleBatch] = []
    store.scan(SOURCE, batches.append)
    rows = rows_of(batches)
    assert len(rows) == len(set(rows)) == text.count("\n")
    assert len(proxy.faulted) <= 10


def test_an_endpoint_that_refuses_everything_is_asked_a_few_times_only(
    oxigraph_server: Server, proxy_to: ProxyTo
) -> None:
    server = oxigraph_server
    server.clear()
    server.load(GRAPH, "".join(triple(f"s{i}", f"p{i % 50}", "o") for i in range(1000)))
    proxy = proxy_to(server)
    store = SparqlStore(endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST))
    proxy.program(Rule(faults.status(400, b"no"), contains="CONSTRUCT"))
    with pytest.raises(PermanentStoreError, match="HTTP 400: no"):
        store.scan(SOURCE, lambda _: None)
    assert len(proxy.faulted) <= 4


def test_blank_nodes_without_a_hash_come_with_a_subject_that_has_too_many_triples(
    oxigraph_server: Server,
) -> None:
    text = "".join(triple("hub", "p", f"o{i}") for i in range(150))
    text += "".join(f"{written('hub')} {written('p')} _:b{i} .\n" for i in range(50))
    found = fetched(oxigraph_server, text)
    assert (found.triples, found.skipped.blank_nodes) == (200, 50)


def test_a_hash_is_computed_once_a_triple_and_not_once_a_value(
    oxigraph_server: Server, tmp_path: Path
) -> None:
    """Oxigraph computes `expression IN (...)` anew for each of the values."""
    where = queries.load("_pattern_named_graph").pattern(graph=GRAPH)
    starts = [f"{i:02x}" for i in range(256)]
    pattern = queries.load("_pattern_hashes").pattern(where=where, digits=2, starts=starts)
    assert " IN " not in pattern.text
    text = "".join(triple(f"s{i}", "p", f"o{i % 7}") for i in range(5000))
    oxigraph_server.clear()
    oxigraph_server.load(GRAPH, text)
    store = SparqlStore(endpoint_of(oxigraph_server, timeout=10.0))
    assert store._client.count(pattern) == 5000
