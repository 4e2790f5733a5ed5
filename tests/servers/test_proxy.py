"""Every fault does on the wire what it says."""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from tests.servers import faults
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.proxy import Exchange, Fault, FaultProxy, Rule
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso

EX = "http://example.org/"
GRAPH, OTHER = EX + "kg/proxied", EX + "kg/other"
SELECT = f"SELECT ?s {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }} ORDER BY ?s"
WHOLE = b"s\r\n" + b"".join(b"%bs%d\r\n" % (EX.encode(), i) for i in range(10))
TSV, JSON = "text/tab-separated-values", "application/sparql-results+json"


@pytest.fixture(scope="module")
def server(oxigraph_server: OxigraphServer) -> OxigraphServer:
    oxigraph_server.clear()
    lines = (f"<{EX}s{i}> <{EX}p> <{EX}o> .\n" for i in range(10))
    oxigraph_server.load(GRAPH, "".join(lines))
    return oxigraph_server


@pytest.fixture
def proxy(server: OxigraphServer, proxy_to: Callable[[Server], FaultProxy]) -> FaultProxy:
    return proxy_to(server)


@dataclass
class Raw:
    """An answer as it came, up to the end of the connection."""

    head: str
    body: bytes
    end: str
    """`"FIN"`, `"RST"`, or `"open"` if nothing more came for a while."""

    @property
    def status(self) -> int:
        return int(self.head.split()[1])

    def header(self, name: str) -> str | None:
        lines = (line.partition(": ") for line in self.head.split("\r\n")[1:])
        return next((value for key, _, value in lines if key.lower() == name.lower()), None)


def exchange(
    proxy: FaultProxy, text: str = SELECT, *, accept: str = "text/csv", patience: float = 30
) -> Raw:
    """Sends one query by a bare socket and reads until the connection ends."""
    with socket.create_connection(
        ("127.0.0.1", int(proxy.base_url.rpartition(":")[2])), timeout=patience
    ) as connection:
        connection.sendall(
            f"POST /query HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n"
            f"Content-Type: application/sparql-query\r\nContent-Length: {len(text.encode())}\r\n"
            f"\r\n{text}".encode()
        )
        received, end = b"", "FIN"
        try:
            while data := connection.recv(65536):
                received += data
        except ConnectionResetError:
            end = "RST"
        except TimeoutError:
            end = "open"
    head, _, body = received.partition(b"\r\n\r\n")
    return Raw(head.decode(), body, end)


def answer(proxy: FaultProxy, fault: Fault, text: str = SELECT, *, accept: str = "text/csv") -> Raw:
    proxy.program(Rule(fault))
    raw = exchange(proxy, text, accept=accept)
    assert len(proxy.faulted) == 1
    return raw


def unchunked(body: bytes) -> bytes:
    """The body of whole chunks, the last one included."""
    data = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        data, end, body = data + body[:length], body[length : length + 2], body[length + 2 :]
        assert end == b"\r\n"
        if length == 0:
            assert body == b""
            return data


def fits(raw: Raw) -> bool:
    return raw.end == "FIN" and raw.header("Content-Length") == str(len(raw.body))


def test_without_a_plan_all_is_passed_on_and_recorded(
    proxy: FaultProxy, server: OxigraphServer
) -> None:
    raw = exchange(proxy)
    assert (raw.status, unchunked(raw.body), raw.end) == (200, WHOLE, "FIN")
    url = proxy.url(server.query_url) + "?" + urllib.parse.urlencode({"query": SELECT})
    request = urllib.request.Request(url, headers={"Accept": "text/csv", "X-Test": "é"})
    with urllib.request.urlopen(request) as response:
        assert response.read() == WHOLE
    first, second = proxy.requests
    assert (first.index, first.method, first.path, first.body) == (
        0,
        "POST",
        "/query",
        SELECT.encode(),
    )
    assert (second.index, second.method, second.header("x-test")) == (1, "GET", "é")
    assert first.text.strip() == second.text.strip() == SELECT
    assert proxy.faulted == []


def test_one_connection_carries_many_requests(proxy: FaultProxy) -> None:
    connection = http.client.HTTPConnection(proxy.base_url.removeprefix("http://"))
    form = urllib.parse.urlencode(
        {"update": f"INSERT DATA {{ GRAPH <{OTHER}> {{ <a:> <b:> 1 }} }}"}
    )
    form_type = {"Content-Type": "application/x-www-form-urlencoded"}
    for path, body, headers, status in (
        ("/query", iter([SELECT[:9].encode(), SELECT[9:].encode()]), {}, 200),
        ("/update", form, form_type, 204),
        ("/query", "nonsense", {}, 400),
        ("/query", SELECT, {}, 200),
    ):
        kind = {"Content-Type": "application/sparql-query", "Accept": "text/csv", **headers}
        connection.request("POST", path, body, kind)
        with connection.getresponse() as response:
            assert response.status == status
            text = response.read()
    assert text == WHOLE
    assert proxy.requests[0].body == SELECT.encode()
    assert proxy.requests[1].text.startswith("INSERT DATA")
    connection.close()


def test_virtuoso_answers_through_the_proxy_with_digest(
    virtuoso: Virtuoso, proxy_to: Callable[[Server], FaultProxy]
) -> None:
    proxy = proxy_to(virtuoso)
    headers = {"Content-Type": "application/sparql-update"}
    update = f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <a:b> <a:c> <a:d> }} }}".encode()
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, proxy.base_url, "dba", "dba")
    opener = urllib.request.build_opener(urllib.request.HTTPDigestAuthHandler(passwords))
    url = proxy.url(virtuoso.update_url)
    with opener.open(urllib.request.Request(url, update, headers)) as response:
        assert response.status == 200
    assert virtuoso.count(GRAPH) == 1
    asked, signed = proxy.requests
    assert asked.header("Authorization") is None
    assert (signed.header("Authorization") or "").startswith("Digest ")


def test_rules_choose_by_index_text_path_method_and_number(proxy: FaultProxy) -> None:
    first_two = Rule(faults.status(503), times=2)
    proxy.program(
        first_two,
        Rule(faults.status(504), index=3),
        Rule(faults.status(502), index=range(4, 6), method="POST"),
        Rule(faults.status(429), contains="ASK"),
        Rule(faults.status(418), path="/elsewhere"),
        lambda request: faults.passed if "DESCRIBE" in request.text else None,
    )
    texts = [SELECT] * 6 + ["ASK {}", SELECT]
    assert [exchange(proxy, text).status for text in texts] == [
        503, 503, 200, 504, 502, 502, 429, 200,
    ]  # fmt: skip
    assert first_two.used == 2
    assert [request.index for request in proxy.faulted] == [0, 1, 3, 4, 5, 6]
    exchange(proxy, "DESCRIBE <a:>")
    assert proxy.faulted[-1].text.strip() == "DESCRIBE <a:>"


def test_a_function_is_a_fault(proxy: FaultProxy) -> None:
    def upper_case(exchange: Exchange) -> None:
        answer = exchange.forward()
        exchange.answer(answer.with_body(answer.body.upper()))

    assert answer(proxy, upper_case).body == WHOLE.upper()


def test_a_fault_that_fails_is_told_at_the_end(server: OxigraphServer) -> None:
    proxy = FaultProxy(server.base_url)
    proxy.program(Rule(faults.truncated(rows=2)))
    assert exchange(proxy, "ASK {}", accept="application/sparql-results+xml").end == "RST"
    with pytest.raises(ExceptionGroup, match="faults that failed"):
        proxy.close()


def test_a_cut_body_can_look_whole(proxy: FaultProxy) -> None:
    raw = answer(proxy, faults.truncated(rows=3))
    assert fits(raw)
    assert raw.body == b"".join(WHOLE.splitlines(keepends=True)[:4])
    assert answer(proxy, faults.truncated(size=20)).body == WHOLE[:20]
    assert answer(proxy, faults.truncated()).body == WHOLE[: len(WHOLE) // 2]
    raw = answer(proxy, faults.truncated_chunked(rows=3))
    assert unchunked(raw.body) == b"".join(WHOLE.splitlines(keepends=True)[:4])


def test_rows_are_found_in_every_format(proxy: FaultProxy) -> None:
    bindings = json.loads(answer(proxy, faults.truncated(rows=3), accept=JSON).body)
    assert [row["s"]["value"] for row in bindings["results"]["bindings"]] == [
        f"{EX}s{i}" for i in range(3)
    ]
    assert answer(proxy, faults.truncated(rows=1), accept=TSV).body == b"?s\n<%bs0>\n" % EX.encode()
    construct = f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}"
    for rows in (4, -6):
        raw = answer(
            proxy, faults.truncated(rows=rows), text=construct, accept="application/n-triples"
        )
        assert raw.body.count(b" .\n") == 4


def test_a_body_breaks_off_before_its_announced_end(proxy: FaultProxy) -> None:
    raw = answer(proxy, faults.short_body(size=30))
    assert (raw.header("Content-Length"), raw.body, raw.end) == (
        str(len(WHOLE)),
        WHOLE[:30],
        "FIN",
    )
    raw = answer(proxy, faults.unfinished_chunk(size=30))
    assert (raw.body, raw.end) == (b"%x\r\n" % len(WHOLE) + WHOLE[:30], "FIN")
    raw = answer(proxy, faults.no_last_chunk(size=30))
    assert (raw.body, raw.end) == (b"1e\r\n" + WHOLE[:30] + b"\r\n", "FIN")
    raw = answer(proxy, faults.reset_midstream(size=30))
    assert (raw.body, raw.end) == (WHOLE[:30], "RST")


@pytest.mark.parametrize(
    ("fault", "end"), [(faults.reset_before_answer, "RST"), (faults.closed_before_answer, "FIN")]
)
def test_an_answer_is_lost_whether_or_not_the_store_acted(
    fault: Callable[..., Fault], end: str, proxy: FaultProxy, server: OxigraphServer
) -> None:
    for carried_out in (False, True):
        server.update(f"DROP SILENT GRAPH <{OTHER}>")
        proxy.program(Rule(fault(carried_out=carried_out)))
        request = urllib.request.Request(
            proxy.url(server.update_url),
            f"INSERT DATA {{ GRAPH <{OTHER}> {{ <a:> <b:> <c:> }} }}".encode(),
            {"Content-Type": "application/sparql-update"},
        )
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            urllib.request.urlopen(request)
        assert server.count(OTHER) == carried_out
        raw = exchange(proxy)
        assert (raw.head, raw.body, raw.end) == ("", b"", end)


def test_an_answer_is_slow_or_never_ends(proxy: FaultProxy) -> None:
    began = time.monotonic()
    assert fits(answer(proxy, faults.dripped(len(WHOLE) / 0.5)))
    assert time.monotonic() - began > 0.3
    proxy.program(Rule(faults.stalled(size=20)))
    raw = exchange(proxy, patience=1)
    assert (raw.status, raw.body, raw.end) == (200, WHOLE[:20], "open")
    proxy.program(Rule(faults.stalled(head=False)))
    raw = exchange(proxy, patience=0.3)
    assert (raw.head, raw.end) == ("", "open")
    began = time.monotonic()
    assert unchunked(answer(proxy, faults.delayed(0.3)).body) == WHOLE
    assert time.monotonic() - began >= 0.3
    proxy.program(Rule(faults.endless()))
    with urllib.request.urlopen(
        urllib.request.Request(
            proxy.base_url + "/query",
            SELECT.encode(),
            {"Content-Type": "application/sparql-query", "Accept": "text/csv"},
        )
    ) as response:
        lines = [response.readline() for _ in range(100_000)]
    rows = WHOLE.splitlines(keepends=True)[1:]
    assert lines == [b"s\r\n", *itertools.islice(itertools.cycle(rows), 99_999)]


def test_a_stalled_answer_does_not_hold_up_the_end(server: OxigraphServer) -> None:
    with FaultProxy(server.base_url) as proxy:
        proxy.program(Rule(faults.stalled(size=20)))
        connection = http.client.HTTPConnection(proxy.base_url.removeprefix("http://"))
        headers = {"Content-Type": "application/sparql-query", "Accept": "text/csv"}
        connection.request("POST", "/query", SELECT, headers)
        response = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    connection.close()


def test_status_codes_and_when_to_come_back(proxy: FaultProxy) -> None:
    raw = answer(proxy, faults.too_many_requests(7))
    assert (raw.status, raw.header("Retry-After"), fits(raw)) == (429, "7", True)
    moment = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    raw = answer(proxy, faults.too_many_requests(moment))
    assert raw.header("Retry-After") == "Wed, 02 Jan 2030 03:04:05 GMT"
    raw = answer(proxy, faults.status(504, b"slow"))
    assert (raw.status, raw.body, raw.header("Retry-After")) == (504, b"slow", None)


def test_an_answer_is_not_what_it_seems(proxy: FaultProxy) -> None:
    raw = answer(proxy, faults.html_page())
    assert (raw.status, raw.header("Content-Type")) == (200, "text/html")
    assert b"<html>" in raw.body
    raw = answer(proxy, faults.max_rows_header(10))
    assert (raw.header("X-SPARQL-MaxRows"), raw.body) == ("10", WHOLE)
    raw = answer(proxy, faults.partial_results(2))
    assert (raw.status, raw.header("X-SQL-State")) == (200, "S1TAT")
    assert raw.body.count(b"\n") == 3
    raw = answer(proxy, faults.cancelled(rows=2))
    assert unchunked(raw.body) == WHOLE.partition(f"{EX}s2".encode())[0] + faults.CANCELLED
    raw = answer(proxy, faults.content_type("text/html"))
    assert (raw.header("Content-Type"), raw.body) == ("text/html", WHOLE)
    raw = answer(proxy, faults.gzipped())
    assert (raw.header("Content-Encoding"), gzip.decompress(raw.body)) == ("gzip", WHOLE)
    raw = answer(proxy, faults.gzipped(declared=False))
    assert (raw.header("Content-Encoding"), gzip.decompress(raw.body)) == (None, WHOLE)


def test_rows_are_doubled_and_lost(proxy: FaultProxy) -> None:
    rows = WHOLE.splitlines(keepends=True)
    assert answer(proxy, faults.repeated_row(1)).body == WHOLE + rows[2]
    assert answer(proxy, faults.dropped_last_row()).body == b"".join(rows[:-1])
    doubled = json.loads(answer(proxy, faults.repeated_row(), accept=JSON).body)
    assert len(doubled["results"]["bindings"]) == 11


@pytest.mark.parametrize("code", [302, 307])
def test_a_redirect_leads_to_another_proxy_that_sees_what_comes_along(
    code: int, proxy: FaultProxy, server: OxigraphServer, proxy_to: Callable[[Server], FaultProxy]
) -> None:
    other = proxy_to(server)
    proxy.program(Rule(faults.redirected(code, other.base_url)))
    url = proxy.url(server.query_url) + "?" + urllib.parse.urlencode({"query": SELECT})
    headers = {"Accept": "text/csv", "Authorization": "Basic secret"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
        assert response.read() == WHOLE
    assert len(proxy.requests) == len(other.requests) == 1
    assert other.requests[0].header("Authorization") == "Basic secret"


def test_a_store_that_is_gone_looks_gone(
    new_oxigraph_server: Callable[..., OxigraphServer], proxy_to: Callable[[Server], FaultProxy]
) -> None:
    server = new_oxigraph_server()
    proxy = proxy_to(server)
    assert exchange(proxy, "ASK {}", accept=JSON).status == 200
    server.kill()
    raw = exchange(proxy, "ASK {}", accept=JSON)
    assert (raw.head, raw.end) == ("", "RST")
