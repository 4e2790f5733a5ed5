"""Where the vectors of a version come from: sidecar files alone, or a state with its graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kgsync.errors import StateCorruptedError, StateError, UnknownTermError
from kgsync.graph.terms import TermTable
from kgsync.state.opening import Description
from kgsync.state.sidecar import FOLDER, INDEX, TENSORS
from kgsync.state.tensors import map_tables

if TYPE_CHECKING:
    from kgsync.graph.terms import Ids
    from kgsync.models.base import Kind
    from kgsync.state.committed import CommittedVersion

__all__ = ["About", "CommittedSource", "SidecarSource", "Source"]

Tables = dict[str, NDArray[np.float32]]


class About(NamedTuple):
    """What a version is."""

    path: Path
    """The folder of its sidecar files."""
    version: int
    previous: int | None
    graph_version: str
    created: str
    model: dict[str, Any]
    """The settings of its model."""


class Source(Protocol):
    """One version. Rows are those of its tables, in their order."""

    about: About

    @property
    def tables(self) -> Tables:
        """Every table of the model by name; read-only."""

    def iris(self, kind: Kind) -> Any:
        """The IRIs of all rows of a kind, as an Arrow string array."""

    def find(self, iri: str, kind: Kind) -> int | None:
        """The row of an IRI; None if it has none."""

    def name(self, row: int) -> str:
        """The IRI of an entity's row."""

    def unknown(self, iri: str, kind: Kind) -> UnknownTermError:
        """Why an IRI has no row."""

    def answers(self, row: int, relation: int, *, tails: bool) -> NDArray[np.bool_] | None:
        """For each entity, whether the graph has it on the open side; None without the graph."""

    def report(self) -> dict[str, Any]:
        """What the step did that made the version.

        Raises:
            StateError: It is not available.
        """


class SidecarSource:
    """The files of an `embeddings` folder; they outlive it once they are open."""

    def __init__(self, path: Path, description: Description) -> None:
        """Map the tables of a folder, and read the IRIs of their rows.

        Args:
            path: The folder.
            description: What its `sidecar.json` says.

        Raises:
            StateCorruptedError: A file is missing or damaged, or they do not belong together.
        """
        self.about = About(
            path,
            description.version,
            description.previous,
            description.graph_version,
            description.created,
            description.model,
        )
        self.tables = map_tables(path / TENSORS)
        self._terms = _read_terms(path / INDEX, self.tables)

    def iris(self, kind: Kind) -> Any:
        """The IRIs of all rows of a kind."""
        return self._terms[kind].iris

    def find(self, iri: str, kind: Kind) -> int | None:
        """The row of an IRI."""
        return self._terms[kind].id(iri)

    def name(self, row: int) -> str:
        """The IRI of an entity's row."""
        return self._terms["entity"].name(row)

    def unknown(self, iri: str, kind: Kind) -> UnknownTermError:
        """Why an IRI has no row."""
        terms = self._terms[kind]
        hint = _hint(terms, iri, np.arange(len(terms), dtype=np.int32))
        return UnknownTermError(f"there is no {kind} <{iri}> in version {self.about.version}{hint}")

    def answers(self, row: int, relation: int, *, tails: bool) -> None:
        """The files hold no graph."""

    def report(self) -> dict[str, Any]:
        """The files hold no report."""
        raise StateError(
            f"the files at {self.about.path} have no report of the step that made them; open the "
            "state they come from with KGSync"
        )


class CommittedSource:
    """A version in a state; its parts are loaded and checked on first use."""

    def __init__(self, version: CommittedVersion) -> None:
        """Read from a version; nothing is loaded yet."""
        self._version = version
        manifest = version.manifest
        self.about = About(
            version.folder.path / FOLDER,
            manifest.version,
            manifest.previous,
            manifest.graph_version["name"],
            manifest.created,
            manifest.model,
        )

    @property
    def tables(self) -> Tables:
        """Every table of the model by name."""
        return self._version.tables

    def iris(self, kind: Kind) -> Any:
        """The IRIs of all rows of a kind."""
        terms, ids = self._rows(kind)
        return terms.names(ids)

    def find(self, iri: str, kind: Kind) -> int | None:
        """The row of an IRI."""
        terms, ids = self._rows(kind)
        id_ = terms.id(iri)
        if id_ is None:
            return None
        row = int(np.searchsorted(ids, id_))
        return row if row < len(ids) and ids[row] == id_ else None

    def name(self, row: int) -> str:
        """The IRI of an entity's row."""
        terms, ids = self._rows("entity")
        return terms.name(int(ids[row]))

    def unknown(self, iri: str, kind: Kind) -> UnknownTermError:
        """Why an IRI has no row: it was never there, was deleted, or is filtered out."""
        terms, ids = self._rows(kind)
        id_ = terms.id(iri)
        if id_ is None:
            return UnknownTermError(f"there is no {kind} <{iri}>{_hint(terms, iri, ids)}")
        last = int(self._version.graph.last_seen[kind][id_])
        if last > 0:
            return UnknownTermError(
                f"the {kind} <{iri}> was deleted from the graph; "
                f"the last version that has it is {last}"
            )
        return UnknownTermError(f"the {kind} <{iri}> is left out by the filter settings")

    def answers(self, row: int, relation: int, *, tails: bool) -> NDArray[np.bool_]:
        """For each entity, whether the graph has it on the open side."""
        graph = self._version.graph
        given, asked = graph.edges.heads, graph.edges.tails
        if not tails:
            given, asked = asked, given
        matches = (given == graph.active.entities[row]) & (
            graph.edges.relations == graph.active.relations[relation]
        )
        return np.isin(graph.active.entities, asked[matches])

    def report(self) -> dict[str, Any]:
        """What the step did that made the version."""
        return self._version.manifest.report

    def _rows(self, kind: Kind) -> tuple[TermTable, Ids]:
        """The terms of a kind, and the ids of the rows."""
        graph = self._version.graph
        if kind == "entity":
            return graph.terms.entities, graph.active.entities
        return graph.terms.relations, graph.active.relations


def _hint(terms: TermTable, iri: str, among: Ids) -> str:
    close = terms.similar(iri, among)
    return f"; did you mean {' or '.join(f'<{name}>' for name in close)}?" if close else ""


def _read_terms(path: Path, tables: Tables) -> dict[str, TermTable]:
    try:
        index = pq.read_table(path, columns=["kind", "iri"])
    except (OSError, pa.ArrowException) as error:
        raise StateCorruptedError(f"cannot read {path}: {error}; copy the folder again") from error
    found = {}
    for kind in ("entity", "relation"):
        iris = index.filter(pc.equal(index["kind"], kind))["iri"].combine_chunks()
        if len(iris) != len(tables[kind]):
            raise StateCorruptedError(
                f"{path} has {len(iris)} rows of kind {kind}, the table has "
                f"{len(tables[kind])}: they belong to different versions; copy the folder again"
            )
        found[kind] = TermTable(iris)
    return found
