"""The settings `[filter]` and `[split]`, and those of SPARQL endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kgsync.common.declare import Rule, setting
from kgsync.common.durations import seconds_of

if TYPE_CHECKING:
    from kgsync.graph.stores import StoreTarget

__all__ = ["EndpointSettings", "FilterSettings", "SplitSettings"]


@dataclass(frozen=True)
class EndpointSettings:
    """How to talk to a SPARQL endpoint.

    Secrets come from the environment: KGSYNC_USER, KGSYNC_PASSWORD, KGSYNC_TOKEN.
    """

    update_url: str | None = setting(
        None,
        "URL for updates; without it nothing is written into the store.",
        example="http://localhost:8890/sparql-auth",
    )
    auth: Literal["none", "basic", "digest", "bearer"] = setting(
        "none", "Authentication; the secrets come from the environment."
    )
    headers: dict[str, str] = setting({}, "HTTP headers to send with every request.")
    timeout: str = setting(
        "2m", "Abort a request that receives no data for this long.", kind="duration", above="0s"
    )
    answer_timeout: str = setting(
        "1h", "Maximum time for a complete response.", kind="duration", above="0s"
    )
    max_bytes: int = setting(1 << 36, "Size of the largest response to accept.", at_least=1)
    max_rows: int = setting(
        0,
        "The endpoint's limit on the rows of a result; 0 detects it.",
        at_least=100,
        or_zero=True,
    )
    retries: int = setting(5, "Retries of a request after a transient error.", at_least=0)

    def applied(self, target: StoreTarget) -> StoreTarget:
        """Return the target with these settings applied, if it is the URL of an endpoint."""
        if not isinstance(target, str) or not target.lower().startswith(("http://", "https://")):
            return target
        from kgsync.graph.endpoint import Endpoint

        return Endpoint(
            target,
            update_url=self.update_url,
            auth=self.auth,
            headers=self.headers,
            timeout=seconds_of(self.timeout),
            answer_timeout=seconds_of(self.answer_timeout),
            max_bytes=self.max_bytes,
            max_rows=self.max_rows or None,
            retries=self.retries,
        )


@dataclass(frozen=True)
class FilterSettings:
    """Which edges are embedded."""

    include: tuple[str, ...] = setting((), "Predicates to keep; empty keeps all.")
    exclude: tuple[str, ...] = setting((), "Predicates to drop.")
    min_degree: int = setting(
        1, "Drop entities and relations in fewer edges, until none remain.", at_least=1
    )


@dataclass(frozen=True)
class SplitSettings:
    """Shares of held-out edges; 0 for both trains on all edges."""

    validation: float = setting(
        0.05,
        "Share of the edges held out for validation; they decide when training stops.",
        at_least=0,
    )
    test: float = setting(
        0.05,
        "Share of the edges held out as test edges; the reported quality is measured on them.",
        at_least=0,
    )
    key: str = setting(
        "kgsync", "Key of the hash that assigns edges; another key gives another split."
    )

    def rules(self) -> Iterator[Rule]:
        """Rules that bounds cannot express."""
        yield Rule(
            self.validation + self.test < 1,
            ("validation", "test"),
            "validation and test must add up to less than 1: no training edges would be left",
        )
        yield Rule(len(self.key.encode()) <= 64, ("key",), "key must be at most 64 bytes long")
