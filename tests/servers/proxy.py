"""An HTTP/1.1 proxy between a client and a store that answers wrongly where a test wants it to.

    proxy.program(Rule(status(503), times=2), Rule(truncated(rows=3), contains="CONSTRUCT"))
    client = Client(proxy.url(server.query_url))

The faults are in `tests.servers.faults`; a function of an `Exchange` is one too.
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import urllib.parse
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

from tests.servers.messages import Answer, Headers, Recorded, header_of
from tests.servers.server import HOST

_HOP_BY_HOP = {
    "connection",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}


Fault: TypeAlias = Callable[["Exchange"], None]
"""Answers a request in its own way."""
Chooser: TypeAlias = Callable[[Recorded], Fault | None]
"""Names the fault a request gets, or None for no opinion."""


class Rule:
    """Gives a fault to the requests that meet every condition given.

    Args:
        fault: How they are answered.
        index: Which request, from 0 and counting all, or which requests.
        contains: A part of the query's or update's text.
        path: A part of the path.
        method: The HTTP method.
        times: How many such requests; all by default.
    """

    def __init__(
        self,
        fault: Fault,
        *,
        index: int | Container[int] | None = None,
        contains: str = "",
        path: str = "",
        method: str | None = None,
        times: int | None = None,
    ) -> None:
        self.used = 0
        self._fault = fault
        self._indices = (index,) if isinstance(index, int) else index
        self._contains = contains
        self._path = path
        self._method = method
        self._times = times

    def __call__(self, request: Recorded) -> Fault | None:
        if (
            (self._times is not None and self.used >= self._times)
            or (self._indices is not None and request.index not in self._indices)
            or self._contains not in request.text
            or self._path not in request.path
            or self._method not in {None, request.method}
        ):
            return None
        self.used += 1
        return self._fault


class ProxyClosedError(Exception):
    """The proxy ends, so a fault that still waits ends too."""


class Exchange:
    """One request, and the ways to answer it, whole or byte by byte."""

    def __init__(self, request: Recorded, handler: _Handler) -> None:
        self.request = request
        self._handler = handler
        self._proxy = handler.server.proxy

    def forward(self) -> Answer:
        """Has the store carry out the request, and reads its whole answer, never compressed."""
        with self._upstream(compressed=False) as response:
            headers = [
                (name, value)
                for name, value in response.getheaders()
                if name.lower() not in _HOP_BY_HOP | {"content-length"}
            ]
            return Answer(response.status, headers, response.read())

    def pass_on(self) -> None:
        """Streams the store's answer, chunked or with a length as the store did."""
        with self._upstream(compressed=True) as response:
            headers = [
                (name, value)
                for name, value in response.getheaders()
                if name.lower() not in _HOP_BY_HOP
            ]
            bodiless = self.request.method == "HEAD" or response.status in _BODILESS
            chunked = not bodiless and header_of(headers, "Content-Length") is None
            if chunked:
                headers.append(("Transfer-Encoding", "chunked"))
            self.send_head(response.status, headers)
            while not bodiless and (data := response.read1(1 << 16)):
                (self.send_chunk if chunked else self.send)(data)
            if chunked:
                self.end_chunks()
            elif not bodiless and response.length:
                self.hang_up()

    def answer(self, answer: Answer) -> None:
        """Sends a whole answer with the length it has."""
        self.answer_head(answer)
        if self.request.method != "HEAD":
            self.send(answer.body)

    def answer_head(self, answer: Answer) -> None:
        """Announces a whole answer, with the length it has."""
        length = ("Content-Length", str(len(answer.body)))
        self.send_head(answer.status, [*answer.headers, length])

    def send_head(self, status: int, headers: Headers) -> None:
        """Sends the status line and exactly these headers."""
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if self._handler.close_connection:
            lines.append("Connection: close")
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self._handler.wfile.write(data)

    def send_chunk(self, data: bytes) -> None:
        """Sends bytes as one chunk."""
        if data:
            self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def end_chunks(self) -> None:
        """Sends the last chunk."""
        self.send(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Closes the connection in good order (FIN), whatever was announced."""
        self._handler.close_connection = True

    def reset(self) -> None:
        """Breaks the connection off (RST)."""
        self._handler.reset()

    def wait(self, seconds: float | None = None) -> None:
        """Waits, for ever by default, but no longer than the proxy lives."""
        if self._proxy.closing.wait(seconds):
            raise ProxyClosedError

    def _upstream(self, *, compressed: bool) -> _Upstream:
        headers = [
            (name, value)
            for name, value in self.request.headers
            if name.lower() not in _HOP_BY_HOP | {"content-length"}
            and (compressed or name.lower() != "accept-encoding")
        ]
        return _Upstream(self._proxy, replace(self.request, headers=headers))


class _UpstreamGoneError(Exception):
    """The store cannot be reached, or broke off."""


class _Upstream:
    """A request to the store on a connection of its own."""

    def __init__(self, proxy: FaultProxy, request: Recorded) -> None:
        self._connection = http.client.HTTPConnection(proxy.host, proxy.port)
        self._proxy = proxy
        self._request = request
        self._socket: socket.socket | None = None

    def __enter__(self) -> http.client.HTTPResponse:
        request, connection = self._request, self._connection
        try:
            connection.connect()
            # Kept here too: the connection forgets its socket when the store closes it.
            self._socket = connection.sock
            self._proxy.sockets.add(self._socket)
            connection.putrequest(request.method, request.path, skip_accept_encoding=True)
            for name, value in request.headers:
                connection.putheader(name, value)
            if request.body or request.method in {"POST", "PUT"}:
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body or None)
            self._response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self._close()
            raise _UpstreamGoneError from error
        return self._response

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._response.close()
        self._close()
        if isinstance(error, http.client.HTTPException):
            raise _UpstreamGoneError from error

    def _close(self) -> None:
        self._proxy.sockets.discard(self._socket)
        self._connection.close()


class FaultProxy:
    """A proxy before one server; passes everything on until `program` says otherwise.

    What a fault itself did wrong is raised by `close`.
    """

    def __init__(self, upstream: str) -> None:
        parts = urllib.parse.urlsplit(upstream)
        assert parts.hostname is not None
        self.host, self.port = parts.hostname, parts.port or 80
        self.requests: list[Recorded] = []
        self.faulted: list[Recorded] = []
        """The requests that were answered by a fault."""
        self.closing = threading.Event()
        self.sockets: set[Any] = set()
        self.errors: list[Exception] = []
        self._plan: Sequence[Chooser] = ()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        return f"http://{HOST}:{self._server.server_port}"

    def url(self, upstream_url: str) -> str:
        """The same address by way of the proxy."""
        parts = urllib.parse.urlsplit(upstream_url)
        return urllib.parse.urlunsplit(parts._replace(netloc=self.base_url.split("//")[1]))

    def program(self, *plan: Chooser) -> None:
        """Forgets the requests so far; the first rule with an opinion answers a request."""
        with self._lock:
            self._plan = plan
            self.requests, self.faulted = [], []

    def record(
        self, method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[Recorded, Fault | None]:
        """Notes a request and finds its fault."""
        with self._lock:
            request = Recorded(len(self.requests), method, path, headers, body)
            self.requests.append(request)
            faults = (chooser(request) for chooser in self._plan)
            fault = next((fault for fault in faults if fault is not None), None)
            if fault is not None:
                self.faulted.append(request)
            return request, fault

    def close(self) -> None:
        """Ends every connection, however much of an answer is due on it."""
        if self.closing.is_set():
            return
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        for one in self.sockets.copy():
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._server.join()
        self._server.server_close()
        if self.errors:
            raise ExceptionGroup("faults that failed", self.errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        self._workers: list[threading.Thread] = []
        super().__init__((HOST, 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        worker = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        self._workers = [one for one in self._workers if one.is_alive()] + [worker]
        self.proxy.sockets.add(request)
        worker.start()

    def shutdown_request(self, request: Any) -> None:
        self.proxy.sockets.discard(request)
        super().shutdown_request(request)

    def join(self) -> None:
        for worker in self._workers:
            worker.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        proxy = self.server.proxy
        try:
            body = b"".join(self._body())
            request, fault = proxy.record(self.command, self.path, self.headers.items(), body)
            exchange = Exchange(request, self)
            (fault or Exchange.pass_on)(exchange)
        except _UpstreamGoneError:
            self.reset()
        except (OSError, ProxyClosedError):
            # The client has left, or the proxy is about to.
            self.close_connection = True
        except Exception as error:  # noqa: BLE001
            proxy.errors.append(error)
            self.reset()

    do_DELETE = do_GET = do_HEAD = do_PATCH = do_POST = do_PUT = _serve  # noqa: N815

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            return

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""

    def reset(self) -> None:
        self.close_connection = True
        self.server.proxy.sockets.discard(self.connection)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def _body(self) -> Iterator[bytes]:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            yield self.rfile.read(int(self.headers.get("Content-Length", 0)))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue
