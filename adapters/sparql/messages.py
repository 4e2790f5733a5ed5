"""Server messages in printable form: short, plain text, without secrets."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

from kgsync.common.printable import printable
from kgsync.graph.endpoint import Endpoint

__all__ = ["Messages", "authorization_of"]

_TAG = re.compile(r"</?!?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
"""Of an HTML page; IRIs have a colon and are kept."""
_DIGEST = re.compile(r"\b(c?nonce|response)=\"?[0-9A-Za-z+/=]{8,}\"?")
"""Parts of a digest from which the password could be guessed."""
_SHOWN = 300
_SHORT = 3
"""A shorter secret is removed only as a whole word, because it may be part of any word."""
_TAKEN_OUT = "***"


class Messages:
    """Builds messages from the responses of one endpoint, and removes secrets."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Remember the secrets, in all the ways they may come back."""
        secrets = sorted({form for secret in _secrets(endpoint) for form in _forms(secret)})
        self._longest = max(map(len, secrets), default=0)
        patterns = [_pattern(secret) for secret in sorted(secrets, key=len, reverse=True)]
        self._secrets = re.compile("|".join(patterns)) if patterns else None

    def said(self, data: bytes, *, cut: bool) -> str:
        """The beginning of a body, without tags.

        Args:
            data: The body.
            cut: Whether there may be more of it: then it may end inside a secret.
        """
        text = self._without_secrets(data.decode("utf-8", "replace"))
        if cut and self._longest:
            text = text[: -self._longest]
        text = _TAG.sub(" ", text)
        return self.clean(" ".join(text.split()))[:_SHOWN]

    def clean(self, text: str) -> str:
        """A message without secrets and control characters."""
        return printable(_DIGEST.sub(rf"\1={_TAKEN_OUT}", self._without_secrets(text)))

    def _without_secrets(self, text: str) -> str:
        return self._secrets.sub(_TAKEN_OUT, text) if self._secrets else text


def authorization_of(endpoint: Endpoint) -> str:
    """The Authorization header for basic or bearer authentication."""
    if endpoint.auth == "bearer":
        return f"Bearer {endpoint.token}"
    return f"Basic {_pair(endpoint)}"


def _pair(endpoint: Endpoint) -> str:
    return base64.b64encode(f"{endpoint.user}:{endpoint.password}".encode()).decode()


def _secrets(endpoint: Endpoint) -> list[str]:
    found = [endpoint.password, endpoint.token, *endpoint.headers.values()]
    if endpoint.password:
        found.append(_pair(endpoint))
    return [secret for secret in found if secret]


def _forms(secret: str) -> set[str]:
    """How a secret may be written by a server that repeats it."""
    data = secret.encode()
    return {
        secret,
        secret.strip(),
        " ".join(secret.split()),
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="").lower(),
        html.escape(secret),
        html.escape(secret, quote=False),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        data.decode("latin-1"),
        data.decode("ascii", "replace"),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
    } - {""}


def _pattern(secret: str) -> str:
    escaped = re.escape(secret)
    return escaped if len(secret) >= _SHORT else rf"(?<!\w){escaped}(?!\w)"
