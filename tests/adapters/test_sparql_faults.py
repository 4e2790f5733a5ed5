"""Answers that go wrong: the same graph as without the fault, or a clear error; never another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kgsync import KGSync
from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import StoreError, TransientStoreError
from kgsync.graph.port import TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import fetch
from kgsync.vectors.embeddings import Vector
from tests.adapters.kinds import endpoint_of
from tests.servers import faults, matrix
from tests.servers.matrix import FAULTS, NEW, OPERATIONS, applies, no_waiting, outcome, through
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.proxy import Exchange, FaultProxy, Rule
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso
from tests.thinning import thinned
from tests.worlds import EX, GRAPHS, iri, quick_settings, ring

ProxyTo = Callable[[Server], FaultProxy]


@pytest.fixture(scope="module")
def on_oxigraph(oxigraph_server: OxigraphServer) -> Iterator[tuple[Server, FaultProxy]]:
    matrix.load(oxigraph_server)
    with FaultProxy(oxigraph_server.base_url) as proxy:
        yield oxigraph_server, proxy


@pytest.fixture(scope="module")
def on_virtuoso(virtuoso: Virtuoso) -> Iterator[tuple[Server, FaultProxy]]:
    matrix.load(virtuoso)
    with FaultProxy(virtuoso.base_url) as proxy:
        yield virtuoso, proxy


CASES = [
    (fault, operation)
    for fault, case in FAULTS.items()
    for operation in OPERATIONS
    if applies(fault, operation) and not (case.slow and operation not in ("scan", "count"))
]
TYPICAL = [
    "body cut in half, length fits",
    "rows cut, looks whole",
    "last row dropped",
    "a row twice",
    "closed without the last chunk",
    "503",
    "HTML page with 200",
    "partial results (X-SQL-State)",
    "cancelled at the end (Oxigraph)",
]


@pytest.fixture
def ready(on_oxigraph: tuple[Server, FaultProxy]) -> tuple[Server, FaultProxy]:
    on_oxigraph[1].program()
    return on_oxigraph


def _is_typical(case: tuple[str, str]) -> bool:
    """Every fault while reading, and typical ones in every operation."""
    fault, operation = case
    return operation == "scan" or fault in TYPICAL


@pytest.mark.parametrize(("fault", "operation"), thinned(CASES, _is_typical))
def test_a_fault_is_got_over_or_is_an_error(
    on_oxigraph: tuple[Server, FaultProxy], fault: str, operation: str
) -> None:
    """`python -m tests.servers.matrix` prints all of it."""
    once, _ = outcome(*on_oxigraph, fault, operation, times=1)
    assert once != "WRONG"
    if not FAULTS[fault].slow or operation == "count":
        always, said = outcome(*on_oxigraph, fault, operation, times=None)
        assert always != "WRONG"
        assert always != "error" or on_oxigraph[1].base_url in said


@pytest.mark.parametrize("operation", ["scan", "scan in parts", "difference"])
@pytest.mark.parametrize("fault", TYPICAL)
def test_virtuoso_gets_over_a_fault_too(
    on_virtuoso: tuple[Server, FaultProxy], fault: str, operation: str
) -> None:
    assert outcome(*on_virtuoso, fault, operation, times=1)[0] != "WRONG"


# -- waiting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "as_date", "least", "most"),
    [(7, False, 7.0, 7.0), (90, True, 30.0, 90.0), (-90, True, 0.0, 1.0)],
)
def test_a_server_says_how_long_to_wait(
    ready: tuple[Server, FaultProxy], seconds: int, as_date: bool, least: float, most: float
) -> None:
    server, proxy = ready
    with no_waiting() as waited:
        store = SparqlStore(through(proxy, server))
        moment = datetime.now(UTC) + timedelta(seconds=seconds)
        proxy.program(Rule(faults.too_many_requests(moment if as_date else seconds), times=1))
        assert store.count(TripleSource(NEW)) == server.count(NEW)
    assert least <= waited[0] <= most
    assert len(waited) == 1


def test_a_server_that_wants_to_be_left_alone_for_long_is_left_alone(
    ready: tuple[Server, FaultProxy],
) -> None:
    server, proxy = ready
    with no_waiting() as waited:
        store = SparqlStore(through(proxy, server))
        proxy.program(Rule(faults.too_many_requests(3600), times=1))
        for _ in range(3):
            with pytest.raises(TransientStoreError, match="429"):
                fetch(store, TripleSource(NEW), TermIndex(b"k"), None)
    assert waited == []
    assert len(proxy.requests) == 1


def test_pauses_grow_and_end(ready: tuple[Server, FaultProxy]) -> None:
    server, proxy = ready
    with no_waiting() as waited:
        store = SparqlStore(through(proxy, server, retries=8))
        proxy.program(Rule(faults.status(503)))
        with pytest.raises(TransientStoreError, match="503"):
            store.count(TripleSource(NEW))
    assert len(waited) == 8
    for tries, seconds in enumerate(waited, 1):
        assert 0.5 <= seconds / min(30.0, 0.5 * 2**tries) <= 1.0


def test_a_request_that_ran_and_was_not_answered_is_repeated_without_harm(
    ready: tuple[Server, FaultProxy],
) -> None:
    server, proxy = ready
    with no_waiting():
        store = SparqlStore(through(proxy, server))
        graph = EX + "twice"
        proxy.program(Rule(faults.reset_before_answer(carried_out=True), times=1))
        store.insert(graph, f"<{EX}a> <{EX}p> <{EX}b> .\n")
        assert len(proxy.requests) == 2
        assert server.count(graph) == 1
    server.update(f"DROP GRAPH <{graph}>")


# -- whole steps -----------------------------------------------------------------------------------


def versions(server: Server) -> None:
    server.clear()
    for name, size in (("1", 30), ("2", 33)):
        text = "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in ring(size))
        server.load(GRAPHS.format(version=name), text)


def sync_of(proxy: FaultProxy, server: Server, state: Path) -> KGSync:
    settings = quick_settings()
    source = replace(settings.source, quiet_period="0s", max_removed=1.0)
    endpoint = replace(through(proxy, server), update_url=None)
    return KGSync(endpoint, GRAPHS, state=state, settings=replace(settings, source=source))


@pytest.fixture(scope="module")
def expected(oxigraph_server: OxigraphServer, tmp_path_factory: pytest.TempPathFactory) -> Vector:
    versions(oxigraph_server)
    with FaultProxy(oxigraph_server.base_url) as proxy:
        sync = sync_of(proxy, oxigraph_server, tmp_path_factory.mktemp("plain") / "state")
        sync.catch_up()
        return sync.embedding(iri("e3"))


@pytest.mark.parametrize("times", [3, None], ids=["thrice", "always"])
@pytest.mark.parametrize("fault", TYPICAL)
def test_a_step_commits_the_right_vectors_or_nothing(
    oxigraph_server: OxigraphServer,
    proxy_to: ProxyTo,
    expected: Vector,
    tmp_path: Path,
    fault: str,
    times: int | None,
) -> None:
    versions(oxigraph_server)
    proxy = proxy_to(oxigraph_server)
    sync = sync_of(proxy, oxigraph_server, tmp_path / "state")
    with no_waiting():
        sync.step()
        first = sync.embedding(iri("e3"))
        rule = Rule(FAULTS[fault].make(), contains="kg/2", times=times)
        proxy.program(lambda request: rule(request) if "AS ?mark" not in request.text else None)
        with suppress(StoreError):
            sync.step()  # a version that is left out of a list is seen the next time
        if sync.status().version == 1:
            assert (sync.embedding(iri("e3")) == first).all()
            proxy.program()
            sync.step()
    assert sync.status().version == 2
    assert (sync.embedding(iri("e3")) == expected).all()


# -- servers that come and go ----------------------------------------------------------------------


def restarted_in_the_middle(server: Server, proxy: FaultProxy) -> None:
    """A fetch during which the server is killed and started again."""
    store = SparqlStore(through(proxy, server, retries=8, timeout=30.0))
    once = threading.Lock()

    def kill(exchange: Exchange) -> None:
        if not once.acquire(blocking=False):
            return exchange.pass_on()
        answer = exchange.forward()
        exchange.answer_head(answer)
        exchange.send(answer.body[: len(answer.body) // 2])
        server.kill()
        threading.Thread(target=server.start).start()
        return exchange.reset()

    proxy.program(Rule(kill, contains="CONSTRUCT"))
    found = fetch(store, TripleSource(NEW), TermIndex(b"k"), None)
    proxy.program()
    direct = SparqlStore(endpoint_of(server))
    expected = fetch(direct, TripleSource(NEW), TermIndex(b"k"), None)
    assert matrix.snapshot_of(found) == matrix.snapshot_of(expected)
    assert found.triples == server.count(NEW) > 300


def test_a_server_that_is_killed_and_started_again_is_read_whole(
    new_oxigraph_server: Callable[..., OxigraphServer], proxy_to: ProxyTo, tmp_path: Path
) -> None:
    server = new_oxigraph_server(tmp_path / "data")
    matrix.load(server)
    restarted_in_the_middle(server, proxy_to(server))


def test_a_virtuoso_that_is_killed_and_started_again_is_read_whole(
    new_virtuoso: Callable[..., Virtuoso], proxy_to: ProxyTo
) -> None:
    server = new_virtuoso(None)
    matrix.load(server)
    restarted_in_the_middle(server, proxy_to(server))


def test_a_server_that_stays_away_is_an_error_in_time(
    new_oxigraph_server: Callable[..., OxigraphServer],
) -> None:
    server = new_oxigraph_server()
    with no_waiting():
        store = SparqlStore(endpoint_of(server, retries=2))
        server.kill()
        started = time.monotonic()
        with pytest.raises(TransientStoreError, match="cannot be reached"):
            fetch(store, TripleSource(NEW), TermIndex(b"k"), None)
    assert time.monotonic() - started < 10
