"""Answers made to do harm: bounded in memory and time, and an error in one sentence."""

from __future__ import annotations

import gzip
import resource
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from kgsync.adapters.sparql.formats.ntriples import NTriplesSink
from kgsync.adapters.sparql.formats.xml import rows_of_xml
from kgsync.adapters.sparql.http import _Unzip
from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import StoreError, TransientStoreError
from kgsync.graph.port import TripleBatch, TripleSource
from tests.adapters.kinds import endpoint_of
from tests.graph.graphs import EX
from tests.servers.messages import Answer
from tests.servers.proxy import Fault, FaultProxy, Rule
from tests.servers.server import Server

ProxyTo = Callable[[Server], FaultProxy]
GRAPH = EX + "hostile"
SOURCE = TripleSource(GRAPH)
MB = 1 << 20


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bomb(size: int, piece: bytes) -> bytes:
    """So many bytes in one gzip member, made without having them."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(piece) for _ in range(size // len(piece))), packer.flush()])


def answered(media_type: str, body: bytes, *, zipped: bool = False) -> Fault:
    headers = [("Content-Type", media_type)]
    if zipped:
        headers.append(("Content-Encoding", "gzip"))
    return lambda exchange: exchange.answer(Answer(200, headers, body))


@pytest.fixture
def hostile(oxigraph_server: Server, proxy_to: ProxyTo) -> Callable[..., SparqlStore]:
    """A store whose answers to one kind of query are given by the test."""
    oxigraph_server.clear()
    oxigraph_server.load(GRAPH, f"<{EX}s> <{EX}p> <{EX}o> .\n")
    proxy = proxy_to(oxigraph_server)

    def make(fault: Fault, contains: str, **options: Any) -> SparqlStore:
        store = SparqlStore(
            endpoint_of(
                oxigraph_server, url=proxy.url(oxigraph_server.query_url), retries=0, **options
            )
        )
        proxy.program(Rule(fault, contains=contains))
        return store

    return make


@pytest.mark.parametrize("line", [b" " * MB, b"<http://a> <http://b> <http://c> .\n" * 30_000])
def test_gzip_that_nobody_asked_for_is_bounded_while_it_expands(
    hostile: Callable[..., SparqlStore], line: bytes
) -> None:
    body = bomb(256 * MB, line)
    assert len(body) < 8 * MB
    store = hostile(answered("application/n-triples", body, zipped=True), "CONSTRUCT", max_bytes=MB)
    started = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match="larger than 1,048,576 bytes"):
            store.scan(SOURCE, lambda _: None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.monotonic() - started < 20
    assert peak < 45 * MB  # 64 kB of it stand for 64 MB


def test_a_small_answer_that_expands_without_end_is_refused_early(
    hostile: Callable[..., SparqlStore],
) -> None:
    body = bomb(256 * MB, b" " * MB)
    store = hostile(answered("application/sparql-results+json", body, zipped=True), "SELECT ?x")
    before = peak_mb()
    with pytest.raises(StoreError, match="bytes expected"):
        store.select("SELECT ?x WHERE { }")
    assert peak_mb() - before < 400


def test_gzip_in_many_members_is_undone_in_linear_time() -> None:
    text = b"<http://a> <http://b> <http://c> .\n"
    whole = gzip.compress(text) * 20_000 + bomb(50 * MB, text * 1000)
    unzip, came, started = _Unzip(), 0, time.monotonic()
    for start in range(0, len(whole), 1 << 16):
        for piece in unzip(whole[start : start + (1 << 16)]):
            assert len(piece) <= 1 << 16
            came += len(piece)
    assert came == len(text) * 20_000 + 50 * MB // len(text * 1000) * len(text * 1000)
    assert unzip.ended
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("read", ["select", "query"])
def test_json_that_is_nested_without_end_is_an_error_in_one_sentence(
    hostile: Callable[..., SparqlStore], read: str
) -> None:
    store = hostile(answered("application/sparql-results+json", b"[" * 200_000), "SELECT ?x")
    more: list[Any] = [] if read == "select" else [{}]
    with pytest.raises(TransientStoreError, match="not a SPARQL result"):
        getattr(store, read)("SELECT ?x WHERE { }", *more)


NS = b"http://www.w3.org/2005/sparql-results#"
TRIPLE = b"<triple><subject><uri>a:b</uri></subject><predicate><uri>a:b</uri></predicate><object>"


@pytest.mark.parametrize(
    "inside",
    [b"<a>" * 300_000, TRIPLE * 100_000, b"<binding name='s'>" * 100_000],
    ids=["elements", "triples", "bindings"],
)
def test_xml_that_is_nested_without_end_is_an_error_in_one_sentence(
    hostile: Callable[..., SparqlStore], inside: bytes
) -> None:
    body = b"<sparql xmlns='" + NS + b"'><head/><results><result>" + inside
    store = hostile(answered("application/sparql-results+xml", body), "AS ?mark")
    with pytest.raises(TransientStoreError, match="nested too deeply"):
        store.scan(SOURCE, lambda _: None, careful=True)


def _written(sink: NTriplesSink, pieces: list[bytes]) -> None:
    for piece in pieces:
        sink.write(piece)


def test_a_line_and_a_row_without_end_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsync.adapters.sparql.formats.ntriples._LONGEST_LINE", 8 * MB)
    monkeypatch.setattr("kgsync.adapters.sparql.formats.xml._LONGEST", 8 * MB)
    sink = NTriplesSink(lambda _: None)
    with pytest.raises(TransientStoreError, match="a line longer than"):
        _written(sink, [b"x" * 65536] * 1000)
    start = b"<sparql xmlns='" + NS + b"'><head/><results><result><binding name='s'><uri>"
    pieces = (start if i == 0 else b"x" * 65536 for i in range(1000))
    with pytest.raises(TransientStoreError, match="without a row"):
        list(rows_of_xml(pieces))


def test_lines_are_found_wherever_pieces_end() -> None:
    """The search goes on where it ended, also across a block that had no line."""
    text = b"".join(b'<a:s> <a:p> "%s" .\n' % (b"x" * size) for size in (3 * MB, 5, 2 * MB, 7))
    for step in (65536, 100_001, MB, len(text)):
        batches: list[TripleBatch] = []
        sink = NTriplesSink(batches.append)
        _written(sink, [text[start : start + step] for start in range(0, len(text), step)])
        sink.finish()
        assert sum(batch.num_rows for batch in batches) == 4
