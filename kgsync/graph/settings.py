"""What is embedded of a graph, `[filter]` and `[split]`, and how an endpoint is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kgsync.common.durations import seconds_of

if TYPE_CHECKING:
    from kgsync.graph.stores import StoreTarget

__all__ = ["EndpointSettings", "FilterSettings", "SplitSettings"]


@dataclass(frozen=True)
class EndpointSettings:
    """How a SPARQL endpoint is spoken to.

    Secrets come from the environment: KGSYNC_USER, KGSYNC_PASSWORD, KGSYNC_TOKEN.
    """

    update_url: str | None = None
    """Where updates go; without it nothing is written into the store."""
    auth: Literal["none", "basic", "digest", "bearer"] = "none"
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request."""
    timeout: str = "2m"
    """Time without a byte before an answer is given up."""
    answer_timeout: str = "1h"
    """Time for a whole answer."""
    max_bytes: int = 1 << 36
    """Size of the largest answer."""
    max_rows: int = 0
    """The endpoint's limit on the rows of an answer; 0 finds it out."""
    retries: int = 5
    """How often a request is repeated that failed for a reason that may pass."""

    def applied(self, target: StoreTarget) -> StoreTarget:
        """A target with these settings, if it is the address of an endpoint."""
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

    include: tuple[str, ...] = ()
    """Predicates to keep; empty keeps all."""
    exclude: tuple[str, ...] = ()
    """Predicates to drop."""
    min_degree: int = 1
    """Drop entities and relations in fewer edges, until none is left."""


@dataclass(frozen=True)
class SplitSettings:
    """Shares of held-out edges; both 0 trains on everything."""

    validation: float = 0.05
    test: float = 0.05
    key: str = "kgsync"
    """Key of the hash that assigns edges; another key gives another split."""
