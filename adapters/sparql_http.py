"""The SPARQL 1.1 Protocol: one request, one whole answer, or an error that says why.

SPARQLWrapper makes the requests. What it lacks is here: our own opener (its digest authentication
is global to the process), retries, time and size limits, redirects that do not carry credentials
to other hosts, and a check that the body ended where the server said it would.
"""

from __future__ import annotations

import base64
import http.client
import io
import random
import re
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any, TypeVar
from urllib.parse import urlsplit

from SPARQLWrapper import INSERT, POST, SELECT, SPARQLWrapper

from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint

__all__ = ["BROKEN", "Answer", "HalfwayError", "Transport"]

T = TypeVar("T")

BROKEN = (OSError, http.client.HTTPException, zlib.error)
"""How a connection breaks, and what is sent on it."""

_AGENT = f"kgsync/{version('kgsync')} (keeps embeddings in step with RDF stores)"
_PASSING = {408, 429, 500, 502, 503, 504}
_REFUSED = {401: "it wants credentials", 403: "it does not allow that"}
_MISTAKE = re.compile(r"Virtuoso (?:22|37|42)\w{3} Error")
"""What Virtuoso finds wrong with a query, by the class of the SQL state; the status is 500."""
_LONGEST_WAIT = 120.0
_TAG = re.compile(r"</?!?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
"""Of an HTML page; IRIs have a colon and are kept."""
_HARMLESS = {"Accept", "Accept-encoding", "Content-type", "User-agent"}
"""Headers that any host may see."""
_PIECE = 1 << 16
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class HalfwayError(TransientStoreError):
    """An answer failed after a part of it had been passed on: repeating it is not for us."""


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


@dataclass(frozen=True)
class _Wait:
    """How long to wait before the next try."""

    seconds: float
    error: TransientStoreError


class Transport:
    """Sends queries and updates to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Prepare; nothing is sent yet.

        Raises:
            ConfigError: A secret is missing.
        """
        self._endpoint = endpoint.with_secrets()
        self._opener = _opener(self._endpoint)
        self.server = ""
        """What the server called itself in its last answer."""
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
                _check_type(answer, accept)
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
        self.server = response.headers.get("Server") or self.server
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
            try:
                return send()
            except StoreError as error:
                if isinstance(error, HalfwayError) or not isinstance(error, TransientStoreError):
                    raise self._named(error) from error
                wait = _Wait(0.0, error)
            except urllib.error.HTTPError as error:
                wait = self._judged(error)
            except BROKEN as error:
                reason = getattr(error, "reason", error)
                wait = _Wait(0.0, TransientStoreError(f"it cannot be reached: {reason!r}"))
            tries += 1
            if wait.seconds > _LONGEST_WAIT:
                wait.error.retry_after = wait.seconds
                self._closed = time.monotonic() + wait.seconds, wait.error
            if tries > self._endpoint.retries or self._closed is not None:
                raise self._named(wait.error)
            # Jitter keeps clients from coming back all at once.
            pause = min(30.0, 0.5 * 2**tries) * random.uniform(0.5, 1.0)  # noqa: S311
            self.sleep(max(wait.seconds, pause))

    def _judged(self, error: urllib.error.HTTPError) -> _Wait:
        with error:
            said = _readable(error)
        if error.code in _REFUSED or "SR186" in said:
            raise self._named(self._refused(error.code, error.url or ""))
        if error.code not in _PASSING or _MISTAKE.search(said):
            raise self._named(PermanentStoreError(f"HTTP {error.code}: {said}"))
        passing = TransientStoreError(f"HTTP {error.code}: {said}")
        return _Wait(_retry_after(error.headers.get("Retry-After")), passing)

    def _refused(self, code: int, url: str) -> PermanentStoreError:
        where = " at the update URL" if url and url == self._endpoint.update_url else ""
        if self._endpoint.auth == "none":
            reason = _REFUSED.get(code, "it does not allow that")
            return PermanentStoreError(f"{reason}{where} (HTTP {code}); set `auth`")
        return PermanentStoreError(
            f"what {self._endpoint.auth} authentication sent was refused{where} (HTTP {code}); "
            "check the user, the password or the token, and their rights"
        )

    def _named(self, error: StoreError) -> StoreError:
        named = type(error)(f"{self._endpoint}: {error}")
        if isinstance(error, TransientStoreError) and isinstance(named, TransientStoreError):
            named.retry_after = error.retry_after
        return named


def _check_type(answer: Answer, accept: str) -> None:
    wanted = [kind.strip() for kind in accept.split(",")]
    if answer.media_type not in wanted:
        said = _plain(next(answer.pieces(), b""))
        raise TransientStoreError(
            f"it answered with {answer.media_type} instead of {wanted[0]}: {said}"
        )


def _readable(error: urllib.error.HTTPError) -> str:
    try:
        return _plain(error.read(4096)) or error.reason
    except (OSError, http.client.HTTPException):
        return str(error.reason)


def _plain(data: bytes) -> str:
    text = _TAG.sub(" ", data.decode("utf-8", "replace"))
    return " ".join(text.split())[:300]


def _retry_after(value: str | None) -> float:
    """Seconds to wait, from a number or a date."""
    if not value:
        return 0.0
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


# -- credentials -----------------------------------------------------------------------------------


def _opener(endpoint: Endpoint) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_Redirects()]
    origins = {_origin(url) for url in (endpoint.url, endpoint.update_url) if url}
    if endpoint.auth == "digest":
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        for origin in origins:
            passwords.add_password(None, origin, endpoint.user or "", endpoint.password or "")
        handlers.append(_Digest(passwords))
    elif endpoint.auth != "none":
        handlers.append(_Authorization(origins, _authorization(endpoint)))
    return urllib.request.build_opener(*handlers)


def _authorization(endpoint: Endpoint) -> str:
    if endpoint.auth == "bearer":
        return f"Bearer {endpoint.token}"
    pair = f"{endpoint.user}:{endpoint.password}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


class _Authorization(urllib.request.BaseHandler):
    """Adds credentials to requests to the endpoint's own hosts, and to no other."""

    def __init__(self, origins: set[str], value: str) -> None:
        self._origins = origins
        self._value = value

    def http_request(self, request: urllib.request.Request) -> urllib.request.Request:
        if _origin(request.full_url) in self._origins:
            request.add_unredirected_header("Authorization", self._value)
        return request

    https_request = http_request


class _Digest(urllib.request.HTTPDigestAuthHandler):
    """Digest authentication that may be asked for again on every request, and twice on none.

    The standard one counts over all requests, so that a long run ends in a refusal.
    """

    def __init__(self, passwords: urllib.request.HTTPPasswordMgrWithDefaultRealm) -> None:
        super().__init__(passwords)
        self._passwords = passwords

    def http_error_401(
        self, request: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any
    ) -> Any:
        if request.has_header(self.auth_header):
            return None  # the answer was given, and was not good enough
        asked = str(headers.get("WWW-Authenticate", ""))
        user, _ = self._passwords.find_user_password("", request.full_url)
        if user is None or not asked.lower().startswith("digest "):
            return None
        fp.close()
        self.retried = 0
        return super().http_error_401(request, fp, code, msg, headers)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Sends a redirected query again as it was; the standard one would make a GET of it."""

    def redirect_request(
        self, request: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, to: str
    ) -> urllib.request.Request | None:
        if urlsplit(to).scheme not in ("http", "https"):
            raise urllib.error.HTTPError(to, code, "a redirect out of the web", headers, fp)
        kept = dict(request.header_items())
        for name in ("Authorization", "Content-length", "Host"):
            kept.pop(name, None)  # whoever needs it adds it anew
        if _origin(to) != _origin(request.full_url):
            # The user's own headers may hold a key.
            kept = {name: kept[name] for name in kept.keys() & _HARMLESS}
        see_other = code == http.client.SEE_OTHER
        return urllib.request.Request(  # noqa: S310
            to,
            None if see_other else request.data,
            kept,
            unverifiable=True,
            method="GET" if see_other else request.get_method(),
        )

    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302
