"""Requests and answers as the proxy sees them."""

from __future__ import annotations

import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

Headers: TypeAlias = Sequence[tuple[str, str]]


def header_of(headers: Headers, name: str) -> str | None:
    """A header's first value, whatever the case of its name."""
    return next((value for key, value in headers if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class Recorded:
    """A request as the client sent it."""

    index: int
    """From 0, since the proxy was programmed."""
    method: str
    path: str
    """With the query string."""
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """A header's first value, whatever the case of its name."""
        return header_of(self.headers, name)

    @property
    def text(self) -> str:
        """The query or update, decoded: of the URL, of a form, or the body itself."""
        fields = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        body = self.body.decode(errors="replace")
        if (self.header("Content-Type") or "").startswith("application/x-www-form-urlencoded"):
            fields |= urllib.parse.parse_qs(body)
            body = ""
        return "\n".join([*fields.get("query", []), *fields.get("update", []), body])


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Headers = ()
    body: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str | None:
        """A header's first value, whatever the case of its name."""
        return header_of(self.headers, name)

    def with_header(self, name: str, value: str) -> Answer:
        """The same with a header added or replaced."""
        others = [(key, old) for key, old in self.headers if key.lower() != name.lower()]
        return replace(self, headers=[*others, (name, value)])

    def with_body(self, body: bytes) -> Answer:
        """The same with another body."""
        return replace(self, body=body)
