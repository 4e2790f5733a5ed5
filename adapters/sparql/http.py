"""The SPARQL 1.1 Protocol: one request, one whole answer, or an error that says why.

SPARQLWrapper makes the requests. What it lacks is here: our own opener (its digest authentication
is global to the process), retries, time and size limits, redirects that do not carry credentials
to other hosts, and a check that the body ended where the server said it would.
"""

from __future__ import annotations

import http.client
import io
import random
import re
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any, TypeVar
from urllib.parse import urlsplit

from SPARQLWrapper import INSERT, POST, SELECT, SPARQLWrapper

from kgsync.adapters.sparql.auth import opener_for
from kgsync.adapters.sparql.messages import Messages
from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.watch import StoreWatch

__all__ = ["BROKEN", "Answer", "HalfwayError", "RowLimitError", "Transport"]

T = TypeVar("T")

BROKEN = (OSError, http.client.HTTPException, zlib.error)
"""How a connection breaks, and what is sent on it."""

_AGENT = f"kgsync/{version('kgsync')} (keeps embeddings in step with RDF stores)"
_PASSING = {408, 429, 500, 502, 503, 504}
_REFUSED = {401: "it wants credentials", 403: "it does not allow that"}
_MISTAKE = re.compile(r"Virtuoso (?:22|37|42)\w{3} Error")
"""What Virtuoso finds wrong with a query, by the class of the SQL state; the status is 500."""
_TOO_MANY_ROWS = re.compile(r"over max vector length \d+ > (\d+)")
"""What Virtuoso says when an answer has more rows than it can hold: a million, if not told."""
_LONGEST_WAIT = 120.0
_LONGEST_REST = 86400.0
"""A server that asks for more is asked again after a day."""
_PIECE = 1 << 16
_READ = 4096
"""Bytes of an error's body."""
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class HalfwayError(TransientStoreError):
    """An answer failed after a part of it had been passed on: repeating it is not for us."""


class OtherServerError(TransientStoreError):
    """Another server answers at the address: what is known has to be found out again."""


class RowLimitError(TransientStoreError):
    """The server cannot make answers of so many rows."""

    limit = 0
    """How many it can make."""


_NOT_REPEATED = HalfwayError, OtherServerError, RowLimitError
"""What would happen again."""


class _Request(SPARQLWrapper):
    """SPARQLWrapper with an opener of its own, which answers HTTP errors by itself."""

    def __init__(
        self, endpoint: Endpoint, opener: urllib.request.OpenerDirector, text: str, *, update: bool
    ) -> None:
        super().__init__(endpoint.url, endpoint.update_url, agent=_AGENT)
        self.opener = opener
        self.seconds = endpoint.timeout
        self.queryString = text
        # It would guess that from the text, and take a query for an update by a word in an IRI.
        self.queryType = INSERT if update else SELECT

    def _query(self) -> tuple[Any, str]:
        request = self._createRequest()
        return self.opener.open(request, timeout=self.seconds), self.returnFormat


class Answer:
    """The body of one answer, as a stream with limits."""

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
        # With a length, http.client returns a short body without a word.
        if self._response.length or (unzip and size and not unzip.ended):
            raise TransientStoreError("the connection was closed in the middle of the answer")

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise PermanentStoreError(f"the answer is larger than {self._limit:,} bytes")

    def text(self, most: int = 1 << 26) -> bytes:
        """The whole body, which must be small."""
        body = io.BytesIO()
        for piece in self.pieces():
            body.write(piece)
            if body.tell() > most:
                raise PermanentStoreError(f"an answer of more than {most:,} bytes was not expected")
        return body.getvalue()

    def _read(self) -> bytes:
        if time.monotonic() > self._end:
            raise TransientStoreError("the answer took too long")
        data: bytes = self._response.read1(_PIECE)
        return data


class _Unzip:
    """Undoes gzip, also where several compressed pieces follow each other."""

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
        """What the server called itself in its last answer."""
        self.expects: Callable[[str], bool] = _any_server
        """Whether a server is one about which the right things are known."""
        self.sleep: Callable[[float], None] = time.sleep
        self._closed: tuple[float, StoreError] | None = None
        """Until when the server does not want to be asked, and what it said."""

    def query(self, text: str, accept: str, use: Callable[[Answer], T]) -> T:
        """Send a query and use its answer; a use that fails for a passing reason is repeated.

        Args:
            text: The query.
            accept: The media type of the answer; another one is an error.
            use: Reads the answer, from the start at every try.
        """

        def send() -> T:
            request = self._request(text, accept, update=False)
            with self._opened(request) as response:
                answer = Answer(response, self._endpoint)
                self._check_type(answer, accept)
                return use(answer)

        return self._repeated(send)

    def update(self, text: str) -> None:
        """Send an update, again if need be: every update of kgsync may be repeated."""

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
        if "Virtuoso" in self.server:
            request.addParameter("timeout", "0")  # else it sends what it has after a while
        return request

    def _opened(self, request: _Request) -> Any:
        response = request.query().response
        server = self._messages.clean(response.headers.get("Server") or self.server)
        if not self.expects(server):
            response.close()
            raise OtherServerError(f"another server answers: {server}, no longer {self.server}")
        self.server = server
        state = response.headers.get("X-SQL-State")
        if state:
            response.close()
            raise TransientStoreError(f"the server gave up in the middle ({state})")
        return response

    def _repeated(self, send: Callable[[], T]) -> T:
        tries = 0
        if self._closed is not None and time.monotonic() < self._closed[0]:
            raise self._named(self._closed[1])
        self._closed = None
        while True:
            # An error is raised outside of the clause that caught it: that one, its cause then,
            # may repeat what we sent.
            try:
                with self._watch.working():
                    return send()
            except StoreError as error:
                found: StoreError = error
                wait = 0.0
            except urllib.error.HTTPError as error:
                found, wait = self._judged(error)
            except BROKEN as error:
                reason = getattr(error, "reason", error)
                found, wait = TransientStoreError(f"it cannot be reached: {reason!r}"), 0.0
            if isinstance(found, _NOT_REPEATED) or not isinstance(found, TransientStoreError):
                raise self._named(found)
            tries += 1
            if wait > _LONGEST_WAIT:
                found.retry_after = wait
                self._closed = time.monotonic() + wait, found
            if tries > self._endpoint.retries or self._closed is not None:
                raise self._named(found)
            # Jitter keeps clients from coming back all at once.
            pause = min(30.0, 0.5 * 2**tries) * random.uniform(0.5, 1.0)  # noqa: S311
            pause = max(wait, pause)
            with self._watch.waiting(str(self._named(found)), pause):
                self.sleep(pause)

    def _judged(self, error: urllib.error.HTTPError) -> tuple[StoreError, float]:
        """What a status means, and how long the server wants to be left alone."""
        with error:
            said = self._read(error)
        if error.code in _REFUSED or "SR186" in said:
            return self._refused(error.code, error.url or ""), 0.0
        if limit := _TOO_MANY_ROWS.search(said):
            too_many = RowLimitError(f"HTTP {error.code}: {said}")
            too_many.limit = int(limit[1])
            return too_many, 0.0
        if error.code not in _PASSING or _MISTAKE.search(said):
            return PermanentStoreError(f"HTTP {error.code}: {said}"), 0.0
        passing = TransientStoreError(f"HTTP {error.code}: {said}")
        return passing, _retry_after(error.headers.get("Retry-After"))

    def _read(self, error: urllib.error.HTTPError) -> str:
        try:
            data = error.read(_READ)
        except (OSError, http.client.HTTPException):
            data = b""
        return self._messages.said(data, cut=len(data) == _READ) or str(error.reason)

    def _refused(self, code: int, url: str) -> PermanentStoreError:
        where = " at the update URL" if url and url == self._endpoint.update_url else ""
        if self._endpoint.auth == "none":
            reason = _REFUSED.get(code, "it does not allow that")
            return PermanentStoreError(f"{reason}{where} (HTTP {code}); set `auth`")
        return PermanentStoreError(
            f"what {self._endpoint.auth} authentication sent was refused{where} (HTTP {code}); "
            "check the user, the password or the token, and their rights"
        )

    def _check_type(self, answer: Answer, accept: str) -> None:
        wanted = [kind.strip() for kind in accept.split(",")]
        if answer.media_type not in wanted:
            said = self._messages.said(next(answer.pieces(), b""), cut=True)
            raise TransientStoreError(
                f"it answered with {answer.media_type} instead of {wanted[0]}: {said}"
            )

    def _named(self, error: StoreError) -> StoreError:
        named = type(error)(f"{self._endpoint}: {self._messages.clean(str(error))}")
        vars(named).update(vars(error))
        return named


def _any_server(_: str) -> bool:
    """Nothing is known."""
    return True


def _retry_after(value: str | None) -> float:
    """Seconds to wait, from a number or a date."""
    if not value:
        return 0.0
    try:
        if value.strip().isdecimal():
            seconds = float(value)
        else:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
    return min(max(0.0, seconds), _LONGEST_REST)
