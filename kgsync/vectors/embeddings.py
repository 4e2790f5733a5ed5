"""The one read API over a committed version: vectors by IRI, neighbours, plausible facts, export.

`kgsync.load` opens the sidecar files alone, `KGSync.at` a version in its state. What needs the
graph of the version works with a state only, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from kgsync.common.retrying import Retry
from kgsync.errors import ConfigError, StateCorruptedError, StateError
from kgsync.models import scorer
from kgsync.models.settings import ModelSettings
from kgsync.state.opening import find_sidecar
from kgsync.vectors.export import export
from kgsync.vectors.nearest import largest, nearest, unit_length
from kgsync.vectors.sources import CommittedSource, SidecarSource, Source

if TYPE_CHECKING:
    from kgsync.models.base import Kind
    from kgsync.models.parts.scoring import Scorer
    from kgsync.state.committed import CommittedVersion
    from kgsync.state.report import StepReport

__all__ = ["FOLLOWED", "Embeddings", "Neighbor", "Prediction", "ReplacedError", "Vector", "load"]

Vector = NDArray[np.float32]


class ReplacedError(StateError):
    """Another process replaced the current version and removed the files being read."""


FOLLOWED = Retry(10, transient=(ReplacedError,))
"""Retries if the current version is replaced while it is read."""


@dataclass(frozen=True)
class Neighbor:
    """An element near another one."""

    iri: str
    similarity: float
    """Cosine of the two vectors."""


@dataclass(frozen=True)
class Prediction:
    """A candidate answer to a triple with one entity missing."""

    iri: str
    score: float
    """The model's score; only the order of scores is meaningful."""
    known: bool | None
    """Whether the graph already has this triple; None without the graph."""


def load(path: Path | str, *, verify: bool = True) -> Embeddings:
    """Open the vectors of one version; the tables stay on disk until they are used.

    Open vectors stay readable when the files are removed.

    Args:
        path: An `embeddings` folder, wherever it was copied to; or the folder of a version; or a
            state directory or its `current.json`, for the current version.
        verify: Compare the checksum of every file, which reads all of them once.

    Raises:
        StateCorruptedError: A file is missing or damaged.
        StateError: There are no embeddings at this path, or they have another format.
    """

    def opened() -> Embeddings:
        folder, description = found = find_sidecar(Path(path))
        try:
            if verify:
                description.verify(folder)
            return Embeddings(SidecarSource(folder, description))
        except StateCorruptedError:
            if find_sidecar(Path(path)) == found:
                raise
        raise ReplacedError(
            f"{path} points to another version each time it is read; try again later"
        )

    return FOLLOWED.call(opened)


class Embeddings:
    """The vectors of one version by IRI, from `kgsync.load` or `KGSync.at`."""

    def __init__(self, source: Source) -> None:
        """Read from a source."""
        self._source = source
        about = source.about
        self.path = about.path
        self.version = about.version
        self.previous = about.previous
        self.graph_version = about.graph_version
        self.created = about.created
        self.model = about.model

    @classmethod
    def of_version(cls, version: CommittedVersion) -> Embeddings:
        """The vectors of a version in a state; nothing is loaded yet."""
        return cls(CommittedSource(version))

    def __len__(self) -> int:
        """How many entities have a vector."""
        return len(self.table("entity"))

    def __contains__(self, iri: object) -> bool:
        """Whether an entity has a vector."""
        return isinstance(iri, str) and self._source.find(iri, "entity") is not None

    def __repr__(self) -> str:
        rows, width = self.table("entity").shape
        return f"Embeddings(version={self.version}, entities={rows}, dimension={width})"

    @property
    def report(self) -> StepReport:
        """What the step did that made the version.

        Raises:
            StateError: These are files without a state.
        """
        from kgsync.state.report import StepReport

        return StepReport.from_json(self._source.report())

    # -- vectors -----------------------------------------------------------------------------------

    def vector(self, iri: str, kind: Kind = "entity") -> Vector:
        """The vector of an entity or a relation, as a new numpy array.

        Raises:
            UnknownTermError: It has none in this version (also a KeyError).
        """
        return np.array(self.table(kind)[self._row(iri, kind)])

    def embedding(self, iri: str) -> Vector:
        """The vector of an entity.

        Raises:
            UnknownTermError: It has none in this version (also a KeyError).
        """
        return self.vector(iri, "entity")

    def relation_embedding(self, iri: str) -> Vector:
        """The vector of a relation.

        Raises:
            UnknownTermError: It has none in this version (also a KeyError).
        """
        return self.vector(iri, "relation")

    def iris(self, kind: Kind = "entity") -> Any:
        """The IRIs of the rows of a table, in their order, as an Arrow string array."""
        return self._source.iris(_checked(kind))

    def table(self, kind: Kind = "entity") -> Vector:
        """All vectors of a kind, read-only; memory-mapped if opened from files."""
        return self._source.tables[_checked(kind)]

    @overload
    def neighbors(self, iri: str, k: int = 10) -> list[Neighbor]: ...

    @overload
    def neighbors(self, iri: list[str], k: int = 10) -> list[list[Neighbor]]: ...

    def neighbors(self, iri: str | list[str], k: int = 10) -> list[Neighbor] | list[list[Neighbor]]:
        """The k nearest entities by cosine similarity, nearest first.

        Args:
            iri: An entity; or several, for a list of neighbours each.
            k: How many.

        Raises:
            UnknownTermError: An IRI has no vector in this version.
        """
        if isinstance(iri, str):
            return self.neighbors([iri], k)[0]
        if not isinstance(iri, Iterable):
            raise TypeError(f"an IRI must be a string, or several in a list, not {_type(iri)}")
        rows = np.array([self._row(one, "entity") for one in iri], np.int64)
        name = self._source.name
        return [
            [Neighbor(name(int(row)), float(cosine)) for row, cosine in zip(*found, strict=True)]
            for found in nearest(self._unit, rows, k)
        ]

    # -- the model ---------------------------------------------------------------------------------

    def score(self, head: str, relation: str, tail: str) -> float:
        """The model's score of a triple; only the order of scores is meaningful.

        Raises:
            UnknownTermError: An IRI has no vector in this version.
        """
        rows = self._row(head, "entity"), self._row(relation, "relation"), self._row(tail, "entity")
        return self._scorer.score(*rows)

    def predict(
        self,
        *,
        relation: str,
        head: str | None = None,
        tail: str | None = None,
        k: int = 10,
        new_only: bool = False,
    ) -> list[Prediction]:
        """The k most plausible entities for the missing head or tail, best first.

        The given entity itself is left out, unless the graph relates it to itself.

        Args:
            relation: IRI of the relation.
            head: IRI of the head, to predict tails.
            tail: IRI of the tail, to predict heads.
            k: How many.
            new_only: Leave out triples that the graph already has; needs a state.

        Raises:
            ConfigError: Not exactly one of head and tail is given, or `new_only` is asked of files
                without their state.
            UnknownTermError: A given IRI has no vector in this version.
        """
        given = head if head is not None else tail
        if given is None or (head is None) == (tail is None):
            raise ConfigError("a prediction needs a relation and exactly one of head and tail")
        row, relation_row = self._row(given, "entity"), self._row(relation, "relation")
        tails = head is not None
        known = self._source.answers(row, relation_row, tails=tails)
        if known is None and new_only:
            raise ConfigError(
                f"new_only needs the graph, which the files at {self.path} do not contain; "
                "use the state they come from (KGSync), or leave out new_only"
            )
        score = self._scorer.tails if tails else self._scorer.heads
        scores = score(row, relation_row)
        if known is None or not known[row]:
            scores[row] = -np.inf  # that a thing is related to itself is rarely what is asked
        if known is not None and new_only:
            scores[known] = -np.inf
        return [
            Prediction(
                self._source.name(int(i)),
                float(scores[i]),
                None if known is None else bool(known[i]),
            )
            for i in largest(scores, min(k, len(scores)))
            if scores[i] > -np.inf
        ]

    # -- other tools -------------------------------------------------------------------------------

    def export(
        self,
        path: Path | str,
        format: str | None = None,  # noqa: A002
        kind: Kind = "entity",
        *,
        force: bool = False,
    ) -> list[Path]:
        """Export the vectors of a kind for other tools.

        Args:
            path: The file.
            format: "word2vec" (text), "npz" (which holds both kinds), "usearch" (an index, with a
                Parquet file of its IRIs beside it) or "parquet"; by default from the suffix.
            kind: Whose vectors.
            force: Overwrite existing files.

        Returns:
            The files that were written.

        Raises:
            ConfigError: The format is unknown or too small for such IRIs, the file already
                exists, or usearch is not installed.
            StateWriteError: Writing to disk failed.
        """
        vectors = {
            "entity": (self.iris("entity"), self.table("entity")),
            "relation": (self.iris("relation"), self.table("relation")),
        }
        return export(Path(path), vectors, _checked(kind), format, force=force)

    @cached_property
    def _unit(self) -> Vector:
        return unit_length(self.table("entity"))

    @cached_property
    def _scorer(self) -> Scorer:
        return scorer(ModelSettings(**self.model), self._source.tables)

    def _row(self, iri: str, kind: Kind) -> int:
        if not isinstance(iri, str):
            raise TypeError(f"an IRI must be a string, not {_type(iri)}")
        row = self._source.find(iri, _checked(kind))
        if row is None:
            raise self._source.unknown(iri, kind)
        return row


def _type(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _checked(kind: Kind) -> Kind:
    if kind not in ("entity", "relation"):
        raise ConfigError(f'kind must be "entity" or "relation", not {kind!r}')
    return kind
