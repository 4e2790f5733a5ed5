"""The description of a SPARQL endpoint: URLs, credentials, limits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from kgsync.errors import ConfigError
from kgsync.graph.store_watch import StoreWatch

__all__ = ["Auth", "Endpoint", "watched"]

Auth = Literal["none", "basic", "digest", "bearer"]


@dataclass(frozen=True)
class Endpoint:
    """Where to send queries, and how. Printing it shows no secret."""

    url: str
    """Where queries go."""
    update_url: str | None = None
    """Where updates go; without it nothing is written into the store."""
    auth: Auth = "none"
    user: str | None = field(default=None, repr=False)
    """The environment variable KGSYNC_USER if not set."""
    password: str | None = field(default=None, repr=False)
    """The environment variable KGSYNC_PASSWORD if not set."""
    token: str | None = field(default=None, repr=False)
    """For "bearer"; the environment variable KGSYNC_TOKEN if not set."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request."""
    timeout: float = 120.0
    """Seconds without data before a request is aborted."""
    answer_timeout: float = 3600.0
    """Maximum seconds for a complete response."""
    max_bytes: int = 1 << 36
    """Maximum size of a response."""
    max_rows: int | None = None
    """The endpoint's limit on the rows of a result; detected if not set."""
    retries: int = 5
    """Retries of a request after a transient error."""
    watch: StoreWatch | None = field(default=None, repr=False, compare=False)
    """Receives the times of all requests."""

    def __post_init__(self) -> None:
        for name in ("url", "update_url"):
            address: str | None = getattr(self, name)
            if address is None:
                continue
            parts = urlsplit(address)
            bare = _bare(address)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigError(f"not the URL of a SPARQL endpoint: {bare!r}")
            object.__setattr__(self, name, bare)
            if "@" in parts.netloc:
                object.__setattr__(self, "user", unquote(parts.username or ""))
                object.__setattr__(self, "password", unquote(parts.password or ""))
                object.__setattr__(self, "auth", "basic" if self.auth == "none" else self.auth)

    def __str__(self) -> str:
        return _bare(self.url)

    def with_secrets(self) -> Endpoint:
        """The endpoint with its secrets, taken from the environment where they are not set.

        Raises:
            ConfigError: A secret that the authentication method needs is missing.
        """
        wanted = {"none": (), "bearer": ("token",)}.get(self.auth, ("user", "password"))
        found: dict[str, str] = {}
        for name in wanted:
            value = getattr(self, name) or os.environ.get(f"KGSYNC_{name.upper()}")
            if not value:
                raise ConfigError(
                    f"{self} uses {self.auth} authentication; "
                    f"set the environment variable KGSYNC_{name.upper()}"
                )
            found[name] = value
        return replace(
            self, user=found.get("user"), password=found.get("password"), token=found.get("token")
        )


def watched(target: Any) -> tuple[Any, StoreWatch]:
    """The same store, and who watches it, if it is an endpoint."""
    watch = StoreWatch()
    return (replace(target, watch=watch) if isinstance(target, Endpoint) else target), watch


def _bare(url: str) -> str:
    """An address without credentials."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
