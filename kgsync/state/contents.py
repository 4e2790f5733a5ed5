"""The contents of a version, assembled before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsync.common.software import VERSION
from kgsync.errors import StateCorruptedError
from kgsync.graph.living import Living
from kgsync.graph.reading import Reading
from kgsync.graph.terms import Ids, TermIndex
from kgsync.state.committed import CommittedVersion, GraphData
from kgsync.state.delta import Rows, delta_table
from kgsync.state.manifest import Manifest
from kgsync.state.report import Action, StepReport
from kgsync.state.settings import VersionSettings
from kgsync.state.sidecar import Sidecar

__all__ = ["Contents", "Learned", "prepare"]


class Learned(Protocol):
    """What was learned from a reading, and how."""

    @property
    def action(self) -> Action:
        """What was done."""

    @property
    def tables(self) -> Mapping[str, NDArray[Any]]:
        """The tables of the model by name, one row per active element."""

    @property
    def about(self) -> dict[str, Any]:
        """Fields of the report: qualities, epochs."""


@dataclass(frozen=True)
class Contents:
    """A version before it is written."""

    report: StepReport
    manifest: Manifest
    graph: GraphData
    sidecar: Sidecar


def prepare(
    number: int,
    reading: Reading,
    learned: Learned,
    current: CommittedVersion | None,
    settings: VersionSettings,
) -> Contents:
    """Assemble the contents of version `number`."""
    living, train, terms = Living.of(reading.edges), reading.split.train, reading.fetched.terms
    has_training_edge = {
        "entity": np.isin(living.entities, train.entities),
        "relation": np.isin(living.relations, train.relation_ids),
    }
    report = StepReport(
        action=learned.action,
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
        **learned.about,
    )
    made_with = settings.hyper_parameters()
    manifest = Manifest(
        version=number,
        previous=report.previous,
        graph_version=asdict(reading.version),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        fingerprint=settings.fingerprint(),
        model=made_with["model"],
        triples=reading.fetched.triples,
        skipped=reading.skipped,
        report=report.to_json(),
        files={},
        settings=made_with,
        software=VERSION,
    )
    last_seen = _last_seen(number, living, terms, current)
    graph = GraphData(terms, reading.fetched.edges, living, last_seen)
    tables = dict(learned.tables)
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
    return Contents(report, manifest, graph, sidecar)


def _rows(current: CommittedVersion | None) -> Rows | None:
    """The rows to compare the new version with; no tables if they are damaged."""
    if current is None:
        return None
    try:
        return Rows(current.graph.living, current.tables)
    except StateCorruptedError:  # a rebuild continues without the old vectors
        return Rows(current.graph.living, {})


def _last_seen(
    number: int, living: Living, terms: TermIndex, current: CommittedVersion | None
) -> dict[str, Ids]:
    """For every id the last version in which it was active; 0 if it never was."""
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
