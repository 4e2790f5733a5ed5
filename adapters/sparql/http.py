"""The SPARQL 1.1 Protocol: one request, and one complete response or an error.

SPARQLWrapper makes the requests. What it lacks is here: our own opener (its digest authentication
is global to the process), retries, time and size limits, redirects that do not carry credentials
to other hosts, and a check that the body ended where the server said it would.
"""

from __future__ import annotations

import http.client
import io
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, TypeVar
from urllib.parse import urlsplit

from SPARQLWrapper import INSERT, POST, SELECT, SPARQLWrapper

from kgsync.adapters.sparql.auth import opener_for
from kgsync.adapters.sparql.dialects import dialect_of, gave_up
from kgsync.adapters.sparql.failures import (
    BROKEN,
    NOT_REPEATED,
    OtherServerError,
    error_of_break,
    error_of_format,
    error_of_status,
    naming,
    seconds_to_wait,
)
from kgsync.adapters.sparql.messages import Messages
from kgsync.common.retrying import Retry
from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.store_watch import StoreWatch

__all__ = ["Answer", "Transport"]

T = TypeVar("T")

_AGENT = f"kgsync/{version('kgsync')} (keeps embeddings in step with RDF stores)"
_LONGEST_WAIT = 120.0
"""Seconds; if the server asks for a longer wait, an error says so."""
_PIECE = 1 << 16
_READ = 4096
"""Bytes of an error's body."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class _Request(SPARQLWrapper):
    """SPARQLWrapper with an opener of its own, which answers HTTP errors by itself."""

    def __init__(
        self, endpoint: Endpoint, opener: urllib.request.OpenerDirector, text: str, *, update: bool
    ) -> None:
        super().__init__(endpoint.url, endpoint.update_url, agent=_AGENT)
        self.opener = opener
        self.seconds = endpoint.timeout
        self.queryString = text
        # SPARQLWrapper would guess it from the text, and a word in an IRI can mislead it.
        self.queryType = INSERT if update else SELECT

    def _query(self) -> tuple[Any, str]:
        request = self._createRequest()
        return self.opener.open(request, timeout=self.seconds), self.returnFormat


class Answer:
    """The body of one response, as a stream with limits."""

    def __init__(self, response: Any, endpoint: Endpoint) -> None:
        self._response = response
        self._limit = endpoint.max_bytes
        self._end = time.monotonic() + endpoint.answer_timeout
        self.media_type = response.headers.get_content_type()
        self.headers = response.headers

    def pieces(self) -> Iterator[bytes]:
        """The body, piece by piece, none of them large, whatever it was compressed from.

        Raises:
            TransientStoreError: It ends too early, or comes too slowly.
            PermanentStoreError: It is too large.
        """
        unzip = _Unzip() if self.headers.get("Content-Encoding") == "gzip" else None
        came = size = 0
        while read := self._read():
            came += len(read)
            for piece in unzip(read) if unzip else (read,):
                size += len(piece)
                self._check_size(size)
                yield piece
            self._check_size(came)
        # With a length, http.client returns a truncated body without an error.
        if self._response.length or (unzip and size and not unzip.ended):
            raise TransientStoreError("the connection was closed in the middle of the response")

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise PermanentStoreError(
                f"the response is larger than {self._limit:,} bytes (`max_bytes`)"
            )

    def text(self, most: int = 1 << 26) -> bytes:
        """The complete body, which must be small."""
        body = io.BytesIO()
        for piece in self.pieces():
            body.write(piece)
            if body.tell() > most:
                raise PermanentStoreError(
                    f"the response is larger than the {most:,} bytes expected"
                )
        return body.getvalue()

    def _read(self) -> bytes:
        if time.monotonic() > self._end:
            raise TransientStoreError("the response took too long (`answer_timeout`)")
        data: bytes = self._response.read1(_PIECE)
        return data


class _Unzip:
    """Decompresses gzip, including several concatenated members."""

    def __init__(self) -> None:
        self._current = zlib.decompressobj(31)

    @property
    def ended(self) -> bool:
        return self._current.eof

    def __call__(self, piece: bytes) -> Iterator[bytes]:
        """What a piece stands for, in pieces: a megabyte may stand for a thousand."""
        while piece:
            if self._current.eof:
                self._current = zlib.decompressobj(31)
            data = self._current.decompress(piece, _PIECE)
            if data:
                yield data
            piece = self._current.unconsumed_tail or self._current.unused_data


class Transport:
    """Sends queries and updates to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Prepare; nothing is sent yet.

        Raises:
            ConfigError: A secret is missing.
        """
        self._endpoint = endpoint.with_secrets()
        self._opener = opener_for(self._endpoint)
        self._messages = Messages(self._endpoint)
        self._watch = endpoint.watch or StoreWatch()
        self.server = ""
        """The `Server` header of the last response."""
        self.expects: Callable[[str], bool] = _any_server
        """Whether the cached knowledge is about this server."""
        self.sleep: Callable[[float], None] = time.sleep
        self._retry = Retry(
            endpoint.retries + 1, first=1.0, most=30.0, jitter=True, never=NOT_REPEATED
        )
        self._closed: tuple[float, StoreError] | None = None
        """Until when the server rejects requests, and its error."""

    def query(self, text: str, accept: str, use: Callable[[Answer], T]) -> T:
        """Send a query and read its response; transient errors are retried.

        Args:
            text: The query.
            accept: The media type of the response; any other is an error.
            use: Reads the response, from the start at every attempt.
        """

        def send() -> T:
            request = self._request(text, accept, update=False)
            with self._opened(request) as response:
                answer = Answer(response, self._endpoint)
                self._check_type(answer, accept)
                return use(answer)

        return self._repeated(send)

    def update(self, text: str) -> None:
        """Send an update, with retries: all updates of kgsync are idempotent."""

        def send() -> None:
            with self._opened(self._request(text, "*/*", update=True)) as response:
                Answer(response, self._endpoint).text()

        self._repeated(send)

    def _request(self, text: str, accept: str, *, update: bool) -> _Request:
        request = _Request(self._endpoint, self._opener, text, update=update)
        request.setMethod(POST)
        request.setOnlyConneg(True)
        request.addCustomHttpHeader("Accept", accept)
        for name, value in self._endpoint.headers.items():
            request.addCustomHttpHeader(name, value)
        if urlsplit(self._endpoint.url).hostname not in _LOCAL:
            request.addCustomHttpHeader("Accept-Encoding", "gzip")
        for name, value in dialect_of(self.server).parameters.items():
            request.addParameter(name, value)
        return request

    def _opened(self, request: _Request) -> Any:
        response = request.query().response
        server = self._messages.clean(response.headers.get("Server") or self.server)
        if not self.expects(server):
            response.close()
            raise OtherServerError(f"the server has changed: {server} instead of {self.server}")
        self.server = server
        if state := gave_up(response.headers):
            response.close()
            raise TransientStoreError(f"the server aborted the response ({state})")
        return response

    def _repeated(self, send: Callable[[], T]) -> T:
        if self._closed is not None and time.monotonic() < self._closed[0]:
            raise self._named(self._closed[1])
        self._closed = None
        asked = 0.0

        def attempt() -> T:
            nonlocal asked
            # An error is raised outside of the clause that caught it: that one, its cause then,
            # may repeat what we sent.
            asked = 0.0
            try:
                with self._watch.working():
                    return send()
            except StoreError as error:
                found: StoreError = error
            except urllib.error.HTTPError as error:
                with error:
                    said = self._read(error)
                found = error_of_status(self._endpoint, error.code, error.url or "", said)
                asked = seconds_to_wait(error.headers.get("Retry-After"))
            except BROKEN as error:
                found = error_of_break(error)
            long = asked > _LONGEST_WAIT and self._retry.is_passing(found)
            if long and isinstance(found, TransientStoreError):
                found.retry_after = asked
                self._closed = time.monotonic() + asked, found
            raise self._named(found)

        def pause(seconds: float, error: Exception) -> None:
            seconds = max(asked, seconds)
            with self._watch.waiting(str(error), seconds):
                self.sleep(seconds)

        return self._retry.call(attempt, pause)

    def _read(self, error: urllib.error.HTTPError) -> str:
        try:
            data = error.read(_READ)
        except (OSError, http.client.HTTPException):
            data = b""
        return self._messages.said(data, cut=len(data) == _READ) or str(error.reason)

    def _check_type(self, answer: Answer, accept: str) -> None:
        wanted = [kind.strip() for kind in accept.split(",")]
        if answer.media_type not in wanted:
            said = self._messages.said(next(answer.pieces(), b""), cut=True)
            raise error_of_format(answer.media_type, wanted[0], said)

    def _named(self, error: StoreError) -> StoreError:
        store = str(self._endpoint)
        return naming(store, error, f"{store}: {self._messages.clean(str(error))}")


def _any_server(_: str) -> bool:
    """Nothing is known."""
    return True
