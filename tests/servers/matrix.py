"""Every fault with every operation: what comes of it. `python -m tests.servers.matrix` tells.

A fault meets an operation twice: once, as in passing, and at every request. An operation ends in
the same result as without the fault, or in an error; anything else is a wrong result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from kgsync.adapters.sparql.http import Transport
from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import StoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Base, Fetched, fetch
from kgsync.source.reading_costs import ReadingCosts
from kgsync.source.scanning import _scanned
from tests.adapters.kinds import MIXED, endpoint_of
from tests.graph.graphs import EX, as_edges, base_of
from tests.servers import faults
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.proxy import Fault, FaultProxy, Rule
from tests.servers.server import Server

OLD, NEW, LIVE, WRITTEN = (EX + name for name in ("m/old", "m/new", "m/live", "m/written"))
MOST = 100
_BYTES = 1 << 20


def _edges(start: int, end: int) -> str:
    return "".join(
        f"<{EX}s{i}> <{EX}p{i % 4}> <{EX}{'ü' if i % 9 == 0 else 'o'}{i % 31}> .\n"
        for i in range(start, end)
    )


_PLAIN = "".join(line + "\n" for line in MIXED.splitlines() if "_:" not in line)
GRAPHS = {OLD: _edges(0, 300) + _PLAIN, NEW: _edges(20, 330) + _PLAIN, LIVE: _edges(0, 250)}


@dataclass(frozen=True)
class Case:
    """A fault."""

    make: Callable[[], Fault]
    rows: bool = False
    """Needs an answer with rows."""
    slow: bool = False
    """Shows only when a time limit has passed."""
    unnoticed: tuple[str, ...] = ()
    """Operations that cannot notice it: their answer looks whole, and nothing counts its rows."""


FAULTS = {
    "body cut in half, length fits": Case(faults.truncated),
    "rows cut, looks whole": Case(
        lambda: faults.truncated(rows=5), rows=True, unnoticed=("select",)
    ),
    "rows cut, chunks end well": Case(
        lambda: faults.truncated_chunked(rows=5), rows=True, unnoticed=("select",)
    ),
    "last row dropped": Case(faults.dropped_last_row, rows=True, unnoticed=("select",)),
    "a row twice": Case(faults.repeated_row, rows=True),
    "closed before its length": Case(faults.short_body),
    "closed inside a chunk": Case(faults.unfinished_chunk),
    "closed without the last chunk": Case(faults.no_last_chunk),
    "reset in mid-stream": Case(faults.reset_midstream),
    "reset before the answer": Case(faults.reset_before_answer),
    "closed before the answer": Case(faults.closed_before_answer),
    "done, but closed before the answer": Case(
        lambda: faults.closed_before_answer(carried_out=True)
    ),
    "slow drip": Case(lambda: faults.dripped(5), slow=True),
    "stalled in the middle": Case(faults.stalled, slow=True),
    "stalled before the answer": Case(lambda: faults.stalled(head=False), slow=True),
    "endless": Case(faults.endless, rows=True),
    "429, Retry-After 2 s": Case(lambda: faults.too_many_requests(2)),
    "429, Retry-After 1 h": Case(lambda: faults.too_many_requests(3600)),
    "500": Case(lambda: faults.status(500)),
    "503": Case(lambda: faults.status(503)),
    "504, though carried out": Case(lambda: faults.status(504, carried_out=True)),
    "403": Case(lambda: faults.status(403)),
    "404": Case(lambda: faults.status(404)),
    "HTML page with 200": Case(faults.html_page, unnoticed=("update",)),
    "partial results (X-SQL-State)": Case(lambda: faults.partial_results(3), rows=True),
    "X-SPARQL-MaxRows": Case(faults.max_rows_header),
    "cancelled at the end (Oxigraph)": Case(lambda: faults.cancelled(rows=5), rows=True),
    "gzip": Case(faults.gzipped),
    "gzip that is not declared": Case(lambda: faults.gzipped(declared=False)),
    "wrong content type": Case(lambda: faults.content_type("application/octet-stream")),
}

Result = Any
Outcome = Literal["same", "error", "WRONG", "unnoticed"]


def snapshot_of(fetched: Fetched) -> Result:
    """What a fetch found, whatever the ids."""
    return as_edges(fetched.edges, fetched.terms), fetched.triples, fetched.skipped


def _base(store: SparqlStore, graph: str) -> tuple[TermIndex, Base]:
    source = TripleSource(graph)
    fetched = fetch(store, source, TermIndex(b"k"), None)
    return fetched.terms, base_of(fetched, source)


@dataclass(frozen=True)
class Operation:
    """What is done while answers go wrong."""

    run: Callable[[SparqlStore, Any, Server], Result]
    """With what was prepared."""
    contains: str
    """The requests that get the fault."""
    prepare: Callable[[SparqlStore, Server], Any] = lambda store, server: None
    max_rows: int | None = None


def _scan(store: SparqlStore, prepared: Any, server: Server) -> Result:
    return snapshot_of(fetch(store, TripleSource(NEW), TermIndex(b"k"), None))


def _careful(store: SparqlStore, prepared: Any, server: Server) -> Result:
    source = TripleSource(NEW)
    count = store.count(source)
    return snapshot_of(
        _scanned(store, source, TermIndex(b"k"), count, "", ReadingCosts(), careful=True)
    )


def _difference(store: SparqlStore, prepared: Any, server: Server) -> Result:
    terms, base = prepared
    return snapshot_of(fetch(store, TripleSource(NEW), terms, base))


def _prepare_live(store: SparqlStore, server: Server) -> Any:
    server.update(f"DROP SILENT GRAPH <{LIVE}>")
    server.load(LIVE, GRAPHS[LIVE])
    prepared = _base(store, LIVE)
    server.update(f"INSERT DATA {{ GRAPH <{LIVE}> {{ {_edges(250, 262)} }} }}")
    server.update(f"DELETE DATA {{ GRAPH <{LIVE}> {{ {_edges(0, 9)} }} }}")
    return prepared


def _live(store: SparqlStore, prepared: Any, server: Server) -> Result:
    terms, base = prepared
    costs = ReadingCosts()
    costs.note("scan", 1, 1000.0)  # so that buckets are worth it
    return snapshot_of(fetch(store, TripleSource(LIVE), terms, base, costs=costs))


def _update(store: SparqlStore, prepared: Any, server: Server) -> Result:
    store.insert(WRITTEN, GRAPHS[LIVE])
    return server.count(WRITTEN)


OPERATIONS = {
    "scan": Operation(_scan, "CONSTRUCT"),
    "scan in parts": Operation(_scan, "CONSTRUCT", max_rows=MOST),
    "counts of parts": Operation(_scan, "GROUP BY", max_rows=MOST),
    "careful scan": Operation(_careful, "AS ?mark"),
    "count": Operation(_scan, "SELECT (COUNT(*)"),
    "select": Operation(
        lambda store, _, __: set(
            store.select(f"SELECT ?s WHERE {{ GRAPH <{NEW}> {{ ?s ?p ?o }} }}")
        ),
        "SELECT ?s",
    ),
    "difference": Operation(_difference, "MINUS", lambda store, _: _base(store, OLD)),
    "buckets": Operation(_live, "MD5", _prepare_live),
    "update": Operation(
        _update,
        "INSERT DATA",
        lambda _, server: server.update(f"CLEAR SILENT GRAPH <{WRITTEN}>"),
    ),
}


def applies(fault: str, operation: str) -> bool:
    """Whether a fault can be made for an operation: an update has no rows, XML has no lines."""
    return operation not in ("update", "careful scan") or not FAULTS[fault].rows


@contextmanager
def no_waiting() -> Iterator[list[float]]:
    """Requests are repeated at once; what would have been waited is listed."""
    waited: list[float] = []
    prepare = Transport.__init__

    def impatient(self: Transport, endpoint: Endpoint) -> None:
        prepare(self, endpoint)
        self.sleep = waited.append

    Transport.__init__ = impatient  # type: ignore[method-assign]
    try:
        yield waited
    finally:
        Transport.__init__ = prepare  # type: ignore[method-assign]


def through(proxy: FaultProxy, server: Server, **options: Any) -> Endpoint:
    """An endpoint by way of a proxy, with limits that are soon reached."""
    direct = endpoint_of(server, **{"retries": 1, "max_bytes": _BYTES, **options})
    assert direct.update_url is not None
    return replace(direct, url=proxy.url(direct.url), update_url=proxy.url(direct.update_url))


def load(server: Server) -> None:
    """Put the graphs of the matrix into a server."""
    server.clear()
    for graph, text in GRAPHS.items():
        server.load(graph, text)


@cache
def _expected(server: Server, operation: str) -> Result:
    """The result without a fault."""
    doing = OPERATIONS[operation]
    store = SparqlStore(endpoint_of(server, max_rows=doing.max_rows))
    return doing.run(store, doing.prepare(store, server), server)


def outcome(
    server: Server, proxy: FaultProxy, fault: str, operation: str, *, times: int | None
) -> tuple[Outcome, str]:
    """Do an operation without and with a fault; returns what came of it, and the error."""
    case, doing = FAULTS[fault], OPERATIONS[operation]
    limits = {"timeout": 0.5, "answer_timeout": 0.5} if case.slow else {}
    with no_waiting():
        store = SparqlStore(through(proxy, server, max_rows=doing.max_rows, **limits))
        expected = _expected(server, operation)
        prepared = doing.prepare(store, server)
        proxy.program(Rule(case.make(), contains=doing.contains, times=times))
        try:
            result = doing.run(store, prepared, server)
        except StoreError as error:
            return "error", str(error)
        finally:
            hit = bool(proxy.faulted)
            proxy.program()
    assert hit, f"{operation} made no request with {doing.contains!r}"
    if result == expected:
        return "same", ""
    return ("unnoticed" if operation in case.unnoticed else "WRONG"), ""


def table(server: Server) -> str:
    """Markdown: fault × operation, `once / always`."""
    lines = ["| fault | " + " | ".join(OPERATIONS) + " |", "|---" * (len(OPERATIONS) + 1) + "|"]
    load(server)
    with FaultProxy(server.base_url) as proxy:
        for fault in FAULTS:
            cells = []
            for operation in OPERATIONS:
                if not applies(fault, operation):
                    cells.append("–")
                    continue
                both = (outcome(server, proxy, fault, operation, times=n)[0] for n in (1, None))
                cells.append(" / ".join(both))
            lines.append(f"| {fault} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    with OxigraphServer() as oxigraph_server:
        print(table(oxigraph_server))
