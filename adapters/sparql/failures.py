"""Classifies all errors of an endpoint, in one place."""

from __future__ import annotations

import http.client
import socket
import time
import zlib
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from kgsync.adapters.sparql.dialects import complaint_in
from kgsync.errors import MalformedQueryError, PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint

__all__ = [
    "BROKEN",
    "NOT_REPEATED",
    "HalfwayError",
    "OtherServerError",
    "RowLimitError",
    "error_of_break",
    "error_of_format",
    "error_of_status",
    "naming",
    "seconds_to_wait",
]

BROKEN = (OSError, http.client.HTTPException, zlib.error)
"""Exceptions of broken connections and corrupt data."""

_PASSING = {408, 429, 500, 502, 503, 504}
_REFUSED = {401: "it requires credentials", 403: "it denied access"}
_REMEDIES = {
    401: "set `auth`, and its secrets in the environment",
    403: "check the permissions of the user",
    404: "check the path of the URL",
}
_BREAKS: dict[type[Exception], str] = {
    ConnectionRefusedError: "the connection was refused",
    ConnectionResetError: "the server closed the connection",  # also RemoteDisconnected
    BrokenPipeError: "the server closed the connection",
    TimeoutError: "no response in time",
    socket.gaierror: "its name cannot be resolved",
}
_LONGEST_REST = 86400.0
"""Longest Retry-After that is honoured: a day."""


class HalfwayError(TransientStoreError):
    """A response failed after a part of it was passed on, so it cannot be retried here."""


class OtherServerError(TransientStoreError):
    """The server at the address has changed, so its capabilities must be detected again."""


class RowLimitError(TransientStoreError):
    """The server cannot return this many rows."""

    limit = 0
    """How many rows it can return."""


NOT_REPEATED = HalfwayError, OtherServerError, RowLimitError
"""Errors that a retry would meet again."""


def error_of_status(endpoint: Endpoint, status: int, url: str, said: str) -> StoreError:
    """The error for an HTTP status and the server's message.

    Args:
        endpoint: The endpoint.
        status: The status.
        url: The address that answered.
        said: The beginning of the body.
    """
    error = _error_of_status(endpoint, status, url, said)
    error.remedy = _REMEDIES.get(status, "")
    return error


def _error_of_status(endpoint: Endpoint, status: int, url: str, said: str) -> StoreError:
    complaint = complaint_in(said)
    if status in _REFUSED or complaint.kind == "no rights":
        return _refusal(endpoint, status, url)
    message = f"HTTP {status}: {said}"
    if complaint.kind == "too many rows":
        too_many = RowLimitError(message)
        too_many.limit = complaint.rows
        return too_many
    if status == HTTPStatus.BAD_REQUEST:  # of a query, the protocol says: it is malformed
        return MalformedQueryError(message)
    if status not in _PASSING or complaint.kind == "mistake":
        return PermanentStoreError(message)
    return TransientStoreError(message)


def error_of_break(error: Exception) -> TransientStoreError:
    """The error for a broken connection."""
    reason = getattr(error, "reason", error)
    found = TransientStoreError(f"it cannot be reached: {_in_words(reason)}")
    found.remedy = "check the address and that the server is running"
    return found


def _in_words(reason: Exception | str) -> str:
    """Why a connection broke, without numbers and names of Python."""
    for kind, words in _BREAKS.items():
        if isinstance(reason, kind):
            return words
    if isinstance(reason, http.client.IncompleteRead):
        return f"the response ends after {len(reason.partial):,} bytes"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__


def error_of_format(sent: str, wanted: str, said: str) -> TransientStoreError:
    """The error for a response in an unexpected format.

    Args:
        sent: The media type of the response.
        wanted: The media type that was requested.
        said: The beginning of the body.
    """
    found = TransientStoreError(f"it responded with {sent} instead of {wanted}: {said}")
    found.remedy = "check that the URL is that of a SPARQL endpoint"
    return found


def naming(store: str, error: StoreError, message: str | None = None) -> StoreError:
    """The same error with a message that names the store, unless it already does.

    Args:
        store: How to name it.
        error: The error.
        message: What to say; the name and what the error says if not given.
    """
    if error.store == store:
        return error
    named = type(error)(message or f"{store}: {error}")
    vars(named).update(vars(error), store=store)
    return named


def seconds_to_wait(retry_after: str | None) -> float:
    """Seconds to wait according to a Retry-After header, from a number or a date."""
    if not retry_after:
        return 0.0
    try:
        if retry_after.strip().isdecimal():
            seconds = float(retry_after)
        else:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
    return min(max(0.0, seconds), _LONGEST_REST)


def _refusal(endpoint: Endpoint, status: int, url: str) -> PermanentStoreError:
    where = " at the update URL" if url and url == endpoint.update_url else ""
    if endpoint.auth == "none":
        reason = _REFUSED.get(status, "it denied access")
        return PermanentStoreError(f"{reason}{where} (HTTP {status}); set `auth`")
    return PermanentStoreError(
        f"{endpoint.auth} authentication failed{where} (HTTP {status}); "
        "check the user, the password or the token, and its permissions"
    )
