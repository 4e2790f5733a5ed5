"""Graphs that are larger than an answer may be: cut into parts, always the exact graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.port import TripleBatch, TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import fetch
from tests.adapters.kinds import MIXED, endpoint_of
from tests.graph.graphs import EX, as_edges, rows_of
from tests.servers import faults
from tests.servers.messages import Recorded
from tests.servers.proxy import Exchange, Fault, FaultProxy, Rule
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso

GRAPH = EX + "large"
SOURCE = TripleSource(GRAPH)
MOST = 100
ProxyTo = Callable[[Server], FaultProxy]
ODD = ["Zürich", "日本", "😀", "a%20b", "%C3%BC", "a%23b", "x'y", "q?a=b&c=d", "p#f", "(z)", "~$*"]


def edge(s: str, p: str, o: str) -> str:
    return f"<{EX}{s}> <{EX}{p}> <{EX}{o}> .\n"


GRAPHS = {
    "hub": "".join(edge("hub", "p", f"o{i}") for i in range(3000)),
    "hub of literals": "".join(f'<{EX}hub> <{EX}p> "text {i} ü" .\n' for i in range(150))
    + "".join(
        f'<{EX}hub> <{EX}p> "{i}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        for i in range(150)
    ),
    "hub with odd objects": "".join(
        edge("hub", "p", f"{name}/{i}") for name in ODD for i in range(20)
    ),
    "one predicate": "".join(edge(f"s{i}", "p", f"o{i % 7}") for i in range(600)),
    "odd subjects": "".join(edge(f"{name}/{i}", "p", name) for name in ODD for i in range(20)),
    "odd predicates": "".join(edge("a", f"{name}/{i}", "b") for name in ODD for i in range(12)),
    "many predicates": "".join(edge(f"s{i % 3}", f"p{i}", "o") for i in range(230)),
    "blank subjects": "".join(f"_:b{i} <{EX}p> <{EX}o{i}> .\n" for i in range(70))
    + "".join(edge(f"s{i}", "p", "o") for i in range(80)),
    "blank objects": "".join(f"<{EX}hub> <{EX}p> _:b{i} .\n" for i in range(70))
    + "".join(edge("hub", "p", f"o{i}") for i in range(80)),
    "mixed": MIXED + "".join(edge(f"s{i % 30}", f"p{i % 3}", f"o{i}") for i in range(400)),
}


def named(rows: list[tuple[str, str, str]]) -> Counter[tuple[str, ...]]:
    """Rows with blank nodes and literals that count as what they are."""
    kinds = {"_": "blank", '"': "literal"}
    return Counter(tuple(kinds.get(term[0], term) for term in row) for row in rows)


def expected_rows(text: str) -> Counter[tuple[str, ...]]:
    return named([tuple(line[:-2].split(" ", 2)) for line in text.splitlines()])  # type: ignore[misc]


def scanned(store: SparqlStore, *, careful: bool = False) -> Counter[tuple[str, ...]]:
    batches: list[TripleBatch] = []
    store.scan(SOURCE, batches.append, careful=careful)
    return named(rows_of(batches))


@pytest.fixture(params=["oxigraph_server", "virtuoso"])
def server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    return server


def constructs(proxy: FaultProxy) -> int:
    return sum("CONSTRUCT" in request.text for request in proxy.requests)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_parts_are_the_graph(server: Server, name: str) -> None:
    server.load(GRAPH, GRAPHS[name])
    store = SparqlStore(endpoint_of(server, max_rows=MOST))
    assert scanned(store) == expected_rows(GRAPHS[name])


def test_no_part_is_larger_than_the_limit(server: Server, proxy_to: ProxyTo) -> None:
    server.load(GRAPH, GRAPHS["mixed"])
    proxy = proxy_to(server)
    sizes: list[int] = []

    def measured(exchange: Exchange) -> None:
        answer = exchange.forward()
        sizes.append(len(faults.Rows.of(answer).rows))
        exchange.answer(answer)

    proxy.program(Rule(measured, contains="CONSTRUCT"))
    store = SparqlStore(endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST))
    assert scanned(store) == expected_rows(GRAPHS["mixed"])
    assert sum(sizes) == 415
    assert max(sizes) <= MOST


def test_a_careful_scan_is_cut_into_parts_too(server: Server) -> None:
    server.load(GRAPH, GRAPHS["mixed"])
    store = SparqlStore(endpoint_of(server, max_rows=MOST))
    assert scanned(store, careful=True) == expected_rows(GRAPHS["mixed"])


def test_a_limit_of_virtuoso_is_found_out_and_remembered(virtuoso: Server, tmp_path: Path) -> None:
    virtuoso.clear()
    count = 10_200
    text = "".join(edge(f"s{i // 60}", f"p{i % 3}", f"o{i}") for i in range(count))
    virtuoso.load(GRAPH, text)
    store = SparqlStore(endpoint_of(virtuoso), tmp_path)
    fetched = fetch(store, SOURCE, TermIndex(b"k"), None)
    assert len(as_edges(fetched.edges, fetched.terms)) == count
    again = SparqlStore(endpoint_of(virtuoso), tmp_path)
    assert again.find_limit(SOURCE) == 10_000
    assert scanned(again).total() == count


def test_a_limit_that_was_lowered_is_found_out(
    new_virtuoso: Callable[..., Virtuoso], tmp_path: Path
) -> None:
    server = new_virtuoso(max_rows=2000)
    text = "".join(edge(f"s{i // 2}", "p", f"o{i}") for i in range(3000))
    server.load(GRAPH, text)
    assert SparqlStore(endpoint_of(server), tmp_path).find_limit(SOURCE) == 2000
    server.stop()
    server.max_rows = 500
    server.start()
    with pytest.raises(TransientStoreError):
        scanned(SparqlStore(endpoint_of(server), tmp_path))
    assert scanned(SparqlStore(endpoint_of(server), tmp_path)) == expected_rows(text)


@pytest.mark.torture
def test_more_rows_than_virtuoso_can_hold_come_in_parts(
    new_virtuoso: Callable[..., Virtuoso], tmp_path: Path
) -> None:
    server, count = new_virtuoso(max_rows=None), 1_000_001  # one more than it can hold
    server.load(GRAPH, "".join(edge(f"s{i // 99}", f"p{i % 7}", f"o{i}") for i in range(count)))
    store = SparqlStore(endpoint_of(server), tmp_path)
    batches: list[TripleBatch] = []
    store.scan(SOURCE, batches.append)  # of a graph that moves: tests.benchmarks.moving
    assert sum(batch.num_rows for batch in batches) == count
    objects = pa.Table.from_batches(batches)["o"].cast(pa.string())
    assert pc.count_distinct(objects).as_py() == count
    assert SparqlStore(endpoint_of(server), tmp_path).find_limit(SOURCE) == 900_000


def test_what_is_known_about_one_server_is_not_believed_of_another(
    virtuoso: Server, oxigraph_server: Server, tmp_path: Path
) -> None:
    SparqlStore(endpoint_of(virtuoso), tmp_path)
    moved = SparqlStore(endpoint_of(oxigraph_server), tmp_path)  # as if the address were the same
    with pytest.raises(TransientStoreError, match=r"server has changed: .* instead of Virtuoso"):
        moved.graphs()
    again = SparqlStore(endpoint_of(oxigraph_server), tmp_path)
    assert again.capabilities.buckets == "sums"
    assert not again.capabilities.union_default_graph


def test_blank_nodes_that_cannot_be_told_apart_are_an_error(server: Server) -> None:
    server.load(GRAPH, "".join(f"_:b{i} <{EX}p> _:b{i + 1} .\n" for i in range(2 * MOST)))
    store = SparqlStore(endpoint_of(server, max_rows=MOST))
    if store.capabilities.union_default_graph:
        assert scanned(store).total() == 2 * MOST  # Virtuoso has a hash of them
    else:
        with pytest.raises(PermanentStoreError, match="exclude them with a scope"):
            scanned(store)


# -- parts that are kept ---------------------------------------------------------------------------


def interrupted(store: SparqlStore, proxy: FaultProxy, parts: int) -> None:
    """A scan that fails after so many parts."""
    seen = []

    def some(request: Recorded) -> Fault | None:
        if "CONSTRUCT" not in request.text:
            return None
        seen.append(1)
        return faults.status(400) if len(seen) > parts else None

    proxy.program(some)
    with pytest.raises(StoreError):
        scanned(store)
    proxy.program()


def test_after_an_interruption_parts_are_not_fetched_again(
    server: Server, proxy_to: ProxyTo, tmp_path: Path
) -> None:
    server.load(GRAPH, GRAPHS["one predicate"])
    proxy = proxy_to(server)
    endpoint = endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST)
    interrupted(SparqlStore(endpoint, tmp_path), proxy, 4)
    assert scanned(SparqlStore(endpoint, tmp_path)) == expected_rows(GRAPHS["one predicate"])
    rest = constructs(proxy)
    assert not list((tmp_path / "parts").iterdir())
    proxy.program()
    assert scanned(SparqlStore(endpoint, tmp_path)) == expected_rows(GRAPHS["one predicate"])
    assert constructs(proxy) == rest + 4


@pytest.mark.parametrize("change", ["other object", "more"])
def test_parts_of_another_state_of_the_graph_are_not_used(
    server: Server, proxy_to: ProxyTo, tmp_path: Path, change: str
) -> None:
    server.load(GRAPH, GRAPHS["one predicate"])
    proxy = proxy_to(server)
    endpoint = endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST)
    interrupted(SparqlStore(endpoint, tmp_path), proxy, 4)
    text = GRAPHS["one predicate"]
    if change == "more":
        text += edge("new", "p", "o")
        server.update(f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {edge('new', 'p', 'o')} }} }}")
    else:
        # As many triples as before, in every part.
        for i in range(0, 600, 20):
            old, new = edge(f"s{i}", "p", f"o{i % 7}"), edge(f"s{i}", "p", "other")
            text = text.replace(old, new)
            server.update(f"DELETE DATA {{ GRAPH <{GRAPH}> {{ {old} }} }}")
            server.update(f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {new} }} }}")
    assert scanned(SparqlStore(endpoint, tmp_path)) == expected_rows(text)


def test_a_damaged_part_is_fetched_again(
    oxigraph_server: Server, proxy_to: ProxyTo, tmp_path: Path
) -> None:
    oxigraph_server.clear()
    oxigraph_server.load(GRAPH, GRAPHS["one predicate"])
    proxy = proxy_to(oxigraph_server)
    endpoint = endpoint_of(oxigraph_server, url=proxy.url(oxigraph_server.query_url), max_rows=MOST)
    interrupted(SparqlStore(endpoint, tmp_path), proxy, 4)
    for file in tmp_path.rglob("*.arrow"):
        file.write_bytes(file.read_bytes()[:200])
    assert scanned(SparqlStore(endpoint, tmp_path)) == expected_rows(GRAPHS["one predicate"])


def test_a_graph_that_changes_between_two_parts_is_not_passed_off_as_whole(
    oxigraph_server: Server, proxy_to: ProxyTo
) -> None:
    server = oxigraph_server
    server.clear()
    server.load(GRAPH, GRAPHS["one predicate"])
    proxy = proxy_to(server)
    store = SparqlStore(
        endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST, retries=0)
    )

    def growing(exchange: Exchange) -> None:
        number = len(proxy.requests)
        server.update(f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {edge(f'n{number}', 'p', 'o')} }} }}")
        exchange.pass_on()

    proxy.program(Rule(growing, contains="CONSTRUCT"))
    with pytest.raises(TransientStoreError):
        fetch(store, SOURCE, TermIndex(b"k"), None)


@pytest.mark.parametrize("term", ["a> } ; DROP ALL #", "a b", "a}b", 'a"b', "relative", ""])
@pytest.mark.parametrize("place", ["_count_by_predicate", "_count_by_subject"])
def test_a_term_that_the_server_made_up_gives_an_error_and_no_query(
    oxigraph_server: Server, proxy_to: ProxyTo, term: str, place: str
) -> None:
    server = oxigraph_server
    server.clear()
    server.load(GRAPH, GRAPHS["one predicate"])
    proxy = proxy_to(server)
    store = SparqlStore(endpoint_of(server, url=proxy.url(server.query_url), max_rows=MOST))
    name = term if term in ("", "relative") else EX + term

    def hostile(exchange: Exchange) -> None:
        answer = exchange.forward()
        head, first, rest = answer.body.split(b"\r\n", 2)
        count = first.rpartition(b",")[2]
        written = b'"' + name.replace('"', '""').encode() + b'"'
        body = b"\r\n".join([head, written + b"," + count, rest])
        exchange.answer(answer.with_body(body))

    column = {"_count_by_predicate": "SELECT ?p (COUNT", "_count_by_subject": "SELECT ?s (COUNT"}
    proxy.program(Rule(hostile, contains=column[place]))
    with pytest.raises(TransientStoreError, match=r"do not add up|triples of a part with"):
        scanned(store)
    assert not any("DROP" in request.text for request in proxy.requests)
    assert server.count(GRAPH) == 600
