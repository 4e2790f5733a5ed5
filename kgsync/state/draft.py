"""From a trained model to everything that is about to be committed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from kgsync import __version__
from kgsync.errors import StateCorruptedError
from kgsync.graph.living import Living
from kgsync.graph.terms import Ids, TermIndex
from kgsync.source.reading import Reading
from kgsync.state.committed import CommittedVersion, GraphData
from kgsync.state.delta import Rows, delta_table
from kgsync.state.manifest import Manifest
from kgsync.state.report import Action, StepReport
from kgsync.state.settings import VersionSettings
from kgsync.state.sidecar import Sidecar

if TYPE_CHECKING:
    from kgsync.models.base import Model

__all__ = ["Draft", "Trained", "prepare"]


@dataclass(frozen=True)
class Trained:
    """A model for a reading, and how it came to be."""

    action: Action
    model: Model
    about: dict[str, Any]
    """Fields of the report: qualities, epochs."""


@dataclass(frozen=True)
class Draft:
    """A version before it is written."""

    report: StepReport
    manifest: Manifest
    graph: GraphData
    sidecar: Sidecar


def prepare(
    number: int,
    reading: Reading,
    trained: Trained,
    current: CommittedVersion | None,
    settings: VersionSettings,
) -> Draft:
    """Put together what version `number` consists of."""
    living, train, terms = Living.of(reading.edges), reading.split.train, reading.fetched.terms
    has_training_edge = {
        "entity": np.isin(living.entities, train.entities),
        "relation": np.isin(living.relations, train.relation_ids),
    }
    report = StepReport(
        action=trained.action,
        version=number,
        previous=current.manifest.version if current else None,
        graph_version=reading.version.name,
        behind=reading.behind,
        gathered=reading.gathered,
        triples=reading.split.sizes(),
        entities=len(living.entities),
        relations=len(living.relations),
        untrained=sum(int((~flags).sum()) for flags in has_training_edge.values()),
        change=reading.change.counts(),
        skipped=reading.skipped,
        way=reading.fetched.way,
        caveat=reading.fetched.caveat,
        **trained.about,
    )
    manifest = Manifest(
        version=number,
        previous=report.previous,
        graph_version=asdict(reading.version),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        fingerprint=settings.fingerprint(),
        model=asdict(settings.model),
        triples=reading.fetched.triples,
        skipped=reading.skipped,
        report=report.to_json(),
        files={},
        settings=settings.hyper_parameters(),
        software=__version__,
    )
    last_seen = _last_seen(number, living, terms, current)
    graph = GraphData(terms, reading.fetched.edges, living, last_seen)
    tables = {name: table.numpy() for name, table in trained.model.tables.items()}
    sidecar = Sidecar(
        tables,
        {
            "entity": terms.entities.names(living.entities),
            "relation": terms.relations.names(living.relations),
        },
        has_training_edge,
        delta_table(terms, _rows(current), Rows(living, tables)),
        {
            "version": number,
            "previous": manifest.previous,
            "graph_version": reading.version.name,
            "created": manifest.created,
            "model": manifest.model,
        },
    )
    return Draft(report, manifest, graph, sidecar)


def _rows(current: CommittedVersion | None) -> Rows | None:
    """What the next version is compared with; no tables if they are damaged."""
    if current is None:
        return None
    try:
        return Rows(current.graph.living, current.tables)
    except StateCorruptedError:  # a rebuild goes on without the old vectors
        return Rows(current.graph.living, {})


def _last_seen(
    number: int, living: Living, terms: TermIndex, current: CommittedVersion | None
) -> dict[str, Ids]:
    """For every id the last version it lived in; 0 if it never did."""
    seen = {}
    for kind, alive, size in (
        ("entity", living.entities, len(terms.entities)),
        ("relation", living.relations, len(terms.relations)),
    ):
        last = np.zeros(size, np.int32)
        if current is not None:
            earlier = current.graph.last_seen[kind]
            last[: len(earlier)] = earlier
        last[alive] = number
        seen[kind] = last
    return seen
