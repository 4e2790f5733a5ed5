"""Graphs of real servers that change while they are read, and versions that change afterwards."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import TransientStoreError
from kgsync.graph.port import TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import fetch
from kgsync.source.reading_costs import ReadingCosts
from tests.adapters.kinds import endpoint_of
from tests.benchmarks.moving import Edge as Names
from tests.benchmarks.moving import _Change, _line, _presence
from tests.graph.graphs import as_edges, base_of
from tests.servers import faults
from tests.servers.matrix import no_waiting
from tests.servers.proxy import FaultProxy, Rule
from tests.servers.server import Server
from tests.service.test_schedule import eventually, running, status_of
from tests.test_endpoints import LIVE, load, name, sync_of, text_of
from tests.worlds import EX, GRAPHS, iri, ring, versions

BASE: list[Names] = [(f"s{i}", f"p{i % 5}", f"o{i % 97}") for i in range(3000)]


@pytest.fixture(params=["oxigraph_server", "virtuoso"])
def server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    return server


@contextmanager
def changing(server: Server) -> Iterator[list[_Change]]:
    """A writer that adds and deletes edges as fast as the server takes them, and its log."""
    log: list[_Change] = []
    stop, chosen, pool = threading.Event(), random.Random(3), list(BASE)

    def write() -> None:
        while not stop.is_set():
            added = bool(chosen.getrandbits(1))
            edge = (f"n{len(log)}", "p1", "o1") if added else pool.pop(chosen.randrange(len(pool)))
            begun = time.time()
            verb = "INSERT" if added else "DELETE"
            server.update(f"{verb} DATA {{ GRAPH <{LIVE}> {{ {_line(edge)} }} }}")
            log.append(_Change(edge, added, begun, time.time()))
            time.sleep(0.02)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield log
    finally:
        stop.set()
        thread.join()


def short(edges: frozenset[tuple[str, str, str]]) -> set[Names]:
    return {tuple(one.removeprefix(EX) for one in edge) for edge in edges}  # type: ignore[misc]


def test_a_graph_that_changes_all_the_time_is_read_as_the_contract_says(server: Server) -> None:
    server.load(LIVE, "".join(map(_line, BASE)))
    store, source = SparqlStore(endpoint_of(server)), TripleSource(LIVE)
    known = fetch(store, source, TermIndex(b"k"), None, live=True)
    costs = ReadingCosts()
    with changing(server) as log:
        for _ in range(3):
            seen = len(log)
            eventually(lambda seen=seen: len(log) > seen + 3)  # type: ignore[misc]
            start = time.time()
            found = fetch(store, source, known.terms, base_of(known, source), costs=costs)
            end = time.time()
            there = short(as_edges(found.edges, found.terms))
            events: dict[Names, list[_Change]] = {}
            time.sleep(0.1)  # what was under way at the end is in the log
            for change in list(log):
                events.setdefault(change.edge, []).append(change)
            for edge in {*BASE, *events, *there}:
                surely, perhaps = _presence(edge in BASE, events.get(edge, []), start, end)
                assert (edge in there) >= surely, f"{edge} was there all the time"
                assert (edge in there) <= perhaps, f"{edge} was never there"
            known = found
    # At rest, the next look finds exactly what is there.
    final = fetch(store, source, known.terms, base_of(known, source), costs=costs)
    assert len(final.edges) == server.count(LIVE)


def test_a_capped_server_that_changes_is_read_in_parts(virtuoso: Server) -> None:
    virtuoso.clear()
    virtuoso.load(LIVE, "".join(map(_line, BASE)))
    store = SparqlStore(endpoint_of(virtuoso, max_rows=500))
    with changing(virtuoso):
        found = fetch(store, TripleSource(LIVE), TermIndex(b"k"), None, live=True)
    assert len(found.edges) > 2900


def test_a_cut_answer_is_never_taken_for_a_graph_that_moves(
    oxigraph_server: Server, proxy_to: Callable[[Server], FaultProxy]
) -> None:
    oxigraph_server.clear()
    oxigraph_server.load(LIVE, "".join(map(_line, BASE)))
    proxy = proxy_to(oxigraph_server)
    store = SparqlStore(endpoint_of(oxigraph_server, url=proxy.url(oxigraph_server.query_url)))
    source = TripleSource(LIVE)
    for fault in (faults.truncated(rows=-1), faults.truncated(rows=40), faults.repeated_row()):
        proxy.program(Rule(fault, contains="urn:kgsync:count"))
        with no_waiting(), pytest.raises(TransientStoreError):
            store.scan_moving(source, lambda _: None)
    proxy.program()
    assert len(fetch(store, source, TermIndex(b"k"), None, live=True).edges) == 3000


def test_a_version_that_was_corrected_in_place_is_learnt(server: Server, tmp_path: Path) -> None:
    """One triple out, one in, and the next version keeps that: no difference shows it."""
    load(server, "1")
    sync = sync_of(endpoint_of(server), tmp_path / "state")
    sync.step()
    wrong, right = versions()["1"][0], ("e0", "likes", "e5")
    corrected = [*versions()["1"][1:], right]
    for verb, edge in (("DELETE", wrong), ("INSERT", right)):
        server.update(f"{verb} DATA {{ GRAPH <{name('1')}> {{ {text_of([edge])} }} }}")
    server.load(name("2"), text_of([*corrected, ("e1", "likes", "e9")]))
    report = sync.step()
    assert report.change is not None
    assert sum(report.change.added_triples) == 2
    assert sum(report.change.deleted_triples) == 1
    assert sync.relation_embedding(iri("likes")) is not None


def test_a_clock_that_was_ahead_does_not_put_the_full_read_off(
    oxigraph_server: Server, tmp_path: Path
) -> None:
    oxigraph_server.clear()
    oxigraph_server.load(LIVE, text_of(ring(40)))
    sync = sync_of(endpoint_of(oxigraph_server), tmp_path / "state", LIVE)
    sync.step()
    with sync.state.lock():
        sync.state.remember("whole.json", {"at": time.time() + 1e7})
    assert sync.plan().graph_version is None
    oxigraph_server.update(f"INSERT DATA {{ GRAPH <{LIVE}> {{ {text_of([('e1', 'p', 'e2')])} }} }}")
    assert sync.plan().reason == "a full scan was due"


@pytest.mark.parametrize(
    "asked", ["9" * 400, "1e9", "-5", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 99 Foo", ""]
)
def test_a_server_may_ask_to_be_left_alone_for_any_time(
    oxigraph_server: Server, proxy_to: Callable[[Server], FaultProxy], asked: str
) -> None:
    proxy = proxy_to(oxigraph_server)
    proxy.program(Rule(faults.status(503, retry_after=asked)))
    endpoint = endpoint_of(oxigraph_server, url=proxy.url(oxigraph_server.query_url), retries=1)
    with no_waiting(), pytest.raises(TransientStoreError) as error:
        SparqlStore(endpoint)
    assert 0 <= error.value.retry_after <= 86400


def test_during_retries_the_status_says_what_is_waited_for(
    oxigraph_server: Server, proxy_to: Callable[[Server], FaultProxy], tmp_path: Path
) -> None:
    oxigraph_server.clear()
    load(oxigraph_server, "1")
    proxy = proxy_to(oxigraph_server)
    endpoint: Any = endpoint_of(oxigraph_server, url=proxy.url(oxigraph_server.query_url))
    sync = sync_of(endpoint, tmp_path / "state", GRAPHS)
    sync.settings = replace(sync.settings, schedule=replace(sync.settings.schedule, every="1s"))
    with running(sync):
        eventually(lambda: sync.status().version == 1)
        proxy.program(Rule(faults.status(503, b"out to lunch")))
        eventually(lambda: "out to lunch" in (status_of(sync).waiting_for or ""))
        assert "waiting: " in "\n".join(status_of(sync).lines())
        proxy.program()
        eventually(lambda: status_of(sync).waiting_for is None, 40)
