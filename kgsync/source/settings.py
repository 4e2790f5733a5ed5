"""The settings of the source, `[source]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kgsync.common.declare import part, setting, with_old_names
from kgsync.graph.settings import EndpointSettings, FilterSettings, SplitSettings

__all__ = ["GatheringSettings", "ReadingSettings", "SourceSettings"]


@with_old_names
@dataclass(frozen=True)
class SourceSettings:
    """Where the graph is and how its versions are found."""

    store: str | None = setting(
        None,
        "Path of an Oxigraph directory or of files, or the URL of a SPARQL endpoint.",
        kind="store",
        example="graph.oxigraph",
    )
    graphs: str | None = setting(
        None,
        'IRI with {version} for one path segment; a plain IRI or "default" for a live graph.',
        example="http://example.org/kg/{version}",
    )
    catalog: str | None = setting(
        None,
        "Named graph of the version metadata; the default graph if not set.",
        example="http://example.org/catalog",
    )
    scope: str | None = setting(
        None,
        "File with a query that selects ?s ?p ?o from GRAPH $graph: the triples to embed.",
        kind="path",
        example="scope.rq",
    )
    ready: str | None = setting(
        None,
        "Property that a version has in the catalogue once it is complete; if not set, "
        "dcterms:issued, if some versions have it.",
        example="http://purl.org/dc/terms/issued",
    )
    quiet_period: str = setting(
        "10s",
        "Take a version that nothing declares complete when its number of triples (on an endpoint) "
        "or its files have not changed for this time.",
        kind="duration",
        was="settle",
    )
    full_scan_every: str = setting(
        "1d",
        "How often a live graph is read completely, even if counts by hash show no change.",
        kind="duration",
        was="read_whole",
    )
    start: str = setting("oldest", 'First version to take: "oldest", "latest", or a graph IRI.')
    max_removed: float = setting(
        0.2,
        "Stop if a step would remove more than this share of the edges.",
        at_least=0,
        at_most=1,
    )
    endpoint: EndpointSettings = part(
        EndpointSettings,
        "If the store is an endpoint. Secrets: KGSYNC_USER, KGSYNC_PASSWORD, KGSYNC_TOKEN.",
    )


@dataclass(frozen=True)
class GatheringSettings:
    """Which changes are worth a step; keys of `[schedule]`."""

    latest_only: bool = setting(
        False, "Take the newest graph version only; otherwise each version is a step of its own."
    )
    min_change: int = setting(
        0, "Wait until this many triples have been added or deleted.", at_least=0
    )
    max_wait: str = setting(
        "1d",
        "Take a change below min_change, too, once its oldest part has waited for this time.",
        kind="duration",
    )


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
