"""The settings of the source, `[source]`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from kgsync.graph.settings import EndpointSettings, FilterSettings, SplitSettings

__all__ = ["GatheringSettings", "ReadingSettings", "SourceSettings"]


@dataclass(frozen=True)
class SourceSettings:
    """Where the graph is and how its versions are found."""

    store: str | None = None
    """Path of an Oxigraph directory or of files, or the URL of a SPARQL endpoint."""
    graphs: str | None = None
    """IRI with `{version}` for one path segment; a plain IRI or "default" for a live graph."""
    catalog: str | None = None
    """Named graph of the version metadata; the default graph if not set."""
    scope: str | None = None
    """File of a query that selects ?s ?p ?o from `GRAPH $graph`: what to embed at all."""
    ready: str | None = None
    """Property that a version's graph has in the catalogue once it is complete. If not set,
    `dcterms:issued` is, where some versions have it."""
    settle: str = "10s"
    """A version that nothing says is complete is taken when it has had the same number of triples
    (on an endpoint), or its files have not been written, for so long."""
    read_whole: str = "1d"
    """How often a live graph is read whole, though counts by hash show no change."""
    start: str = "oldest"
    """First version to take: "oldest", "latest", or a graph IRI."""
    max_removed: float = 0.2
    """A step that would remove a larger share of the edges stops and says so."""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)


class GatheringSettings(Protocol):
    """Which changes are worth a step; keys of `[schedule]`."""

    @property
    def latest_only(self) -> bool:
        """Whether only the newest graph version is taken."""

    @property
    def min_change(self) -> int:
        """How many changed triples have to gather."""

    @property
    def max_wait(self) -> str:
        """How long the oldest of them waits at most."""


class ReadingSettings(Protocol):
    """The sections that finding and reading versions needs."""

    @property
    def source(self) -> SourceSettings:
        """Where the graph is."""

    @property
    def filter(self) -> FilterSettings:
        """Which edges are embedded."""

    @property
    def split(self) -> SplitSettings:
        """Which of them are held out."""

    @property
    def schedule(self) -> GatheringSettings:
        """Which changes are worth a step."""

    def scope_text(self) -> str | None:
        """The text of the scope query."""
