"""Credentials in requests, sent only to the endpoint's own hosts."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from kgsync.adapters.sparql.messages import authorization_of
from kgsync.graph.endpoint import Endpoint

__all__ = ["opener_for"]

_HARMLESS = {"Accept", "Accept-encoding", "Content-type", "User-agent"}
"""Headers that any host may see."""


def opener_for(endpoint: Endpoint) -> urllib.request.OpenerDirector:
    """Build a URL opener for one endpoint; urllib's default opener is global to the process."""
    handlers: list[urllib.request.BaseHandler] = [_Redirects()]
    origins = {_origin(url) for url in (endpoint.url, endpoint.update_url) if url}
    if endpoint.auth == "digest":
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        for origin in origins:
            passwords.add_password(None, origin, endpoint.user or "", endpoint.password or "")
        handlers.append(_Digest(passwords))
    elif endpoint.auth != "none":
        handlers.append(_Authorization(origins, authorization_of(endpoint)))
    return urllib.request.build_opener(*handlers)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


class _Authorization(urllib.request.BaseHandler):
    """Adds credentials to requests to the endpoint's own hosts only."""

    def __init__(self, origins: set[str], value: str) -> None:
        self._origins = origins
        self._value = value

    def http_request(self, request: urllib.request.Request) -> urllib.request.Request:
        if _origin(request.full_url) in self._origins:
            request.add_unredirected_header("Authorization", self._value)
        return request

    https_request = http_request


class _Digest(urllib.request.HTTPDigestAuthHandler):
    """Digest authentication with at most one challenge per request.

    The standard handler counts challenges over all requests, so a long run would fail.
    """

    def __init__(self, passwords: urllib.request.HTTPPasswordMgrWithDefaultRealm) -> None:
        super().__init__(passwords)
        self._passwords = passwords

    def http_error_401(
        self, request: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any
    ) -> Any:
        if request.has_header(self.auth_header):
            return None  # the credentials were sent and rejected
        asked = str(headers.get("WWW-Authenticate", ""))
        user, _ = self._passwords.find_user_password("", request.full_url)
        if user is None or not asked.lower().startswith("digest "):
            return None
        fp.close()
        self.retried = 0
        return super().http_error_401(request, fp, code, msg, headers)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Repeats a redirected request unchanged; the standard handler would turn it into a GET."""

    def redirect_request(
        self, request: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, to: str
    ) -> urllib.request.Request | None:
        if urlsplit(to).scheme not in ("http", "https"):
            raise urllib.error.HTTPError(
                to, code, "redirect to a URL that is not HTTP", headers, fp
            )
        kept = dict(request.header_items())
        for name in ("Authorization", "Content-length", "Host"):
            kept.pop(name, None)  # added again where needed
        if _origin(to) != _origin(request.full_url):
            # The user's own headers may contain a secret.
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
