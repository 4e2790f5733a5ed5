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
from kgsync.graph.active import Active
from kgsync.graph.reading import Reading
from kgsync.graph.row_triples import RowTriples
from kgsync.graph.terms import Ids, TermIndex
from kgsync.state.committed import CommittedVersion, GraphData
from kgsync.state.delta import Rows, changes_table, rewritten, row_changes
from kgsync.state.manifest import Manifest
from kgsync.state.moves import Record
from kgsync.state.recent import Contents
from kgsync.state.report import Action, StepReport
from kgsync.state.settings import VersionSettings
from kgsync.state.sidecar import Sidecar

__all__ = ["Learned", "PreparedVersion", "prepare"]


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

    @property
    def kept(self) -> Mapping[str, NDArray[Any]]:
        """What the next update is told besides the vectors; not published."""


@dataclass(frozen=True)
class PreparedVersion:
    """A version before it is written."""

    report: StepReport
    manifest: Manifest
    graph: GraphData
    sidecar: Sidecar
    kept: Mapping[str, NDArray[Any]]
    record: Record
    """What stays in the history when the files are gone."""

    def contents(self, reading: Reading) -> Contents:
        """What the next step needs of it.

        Args:
            reading: What it was made from.
        """
        return Contents(self.graph, self.sidecar.tables, self.kept, reading)


def prepare(
    number: int,
    reading: Reading,
    learned: Learned,
    current: CommittedVersion | None,
    settings: VersionSettings,
) -> PreparedVersion:
    """Assemble the contents of version `number`."""
    active, terms = Active.of(reading.edges), reading.fetched.terms
    train = RowTriples(reading.split.train, active)
    has_training_edge = {
        "entity": train.degree > 0,
        "relation": train.uses > 0,
    }
    tables = dict(learned.tables)
    changes = row_changes(_rows(current), Rows(active, tables))
    change = reading.change if reading.since_last is None else reading.since_last
    report = StepReport(
        action=learned.action,
        version=number,
        previous=current.manifest.version if current else None,
        graph_version=reading.version.name,
        behind=reading.behind,
        gathered=reading.gathered,
        triples=reading.split.sizes(),
        entities=len(active.entities),
        relations=len(active.relations),
        untrained=sum(int((~flags).sum()) for flags in has_training_edge.values()),
        change=change.counts(),
        rewritten=rewritten(changes, active) if current else None,
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
        report={},  # like the files, it is complete when they are written
        files={},
        settings=made_with,
        software=VERSION,
    )
    last_seen = _last_seen(number, active, terms, current)
    graph = GraphData(terms, reading.fetched.edges, active, last_seen)
    sidecar = Sidecar(
        tables,
        {
            "entity": terms.entities.names(active.entities),
            "relation": terms.relations.names(active.relations),
        },
        has_training_edge,
        changes_table(terms, changes),
        {
            "version": number,
            "previous": manifest.previous,
            "graph_version": reading.version.name,
            "created": manifest.created,
            "model": manifest.model,
        },
    )
    # The first version was not compared with another: all its triples would be added ones.
    record = Record.of(manifest, report, changes, None if current is None else change)
    return PreparedVersion(report, manifest, graph, sidecar, learned.kept, record)


def _rows(current: CommittedVersion | None) -> Rows | None:
    """The rows to compare the new version with; no tables if they are damaged."""
    if current is None:
        return None
    try:
        return Rows(current.graph.active, current.tables)
    except StateCorruptedError:  # a rebuild continues without the old vectors
        return Rows(current.graph.active, {})


def _last_seen(
    number: int, active: Active, terms: TermIndex, current: CommittedVersion | None
) -> dict[str, Ids]:
    """For every id the last version in which it was active; 0 if it never was."""
    seen = {}
    for kind, alive, size in (
        ("entity", active.entities, len(terms.entities)),
        ("relation", active.relations, len(terms.relations)),
    ):
        last = np.zeros(size, np.int32)
        if current is not None:
            earlier = current.graph.last_seen[kind]
            last[: len(earlier)] = earlier
        last[alive] = number
        seen[kind] = last
    return seen
