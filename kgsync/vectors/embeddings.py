"""Reading sidecar files on their own: no store, no settings, no torch."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kgsync.errors import ConfigError, StateCorruptedError, StateError, UnknownTermError
from kgsync.graph.terms import TermTable
from kgsync.state.mapping import map_tables
from kgsync.state.opening import Description, find_sidecar
from kgsync.state.sidecar import INDEX, TENSORS
from kgsync.vectors.export import export
from kgsync.vectors.view import Neighbor, nearest, unit_length

if TYPE_CHECKING:
    from kgsync.models.base import Kind

__all__ = ["Embeddings", "load"]

Vector = NDArray[np.float32]

_TRIES = 10
"""How often to follow a current.json that moves while its files are opened."""


def load(path: Path | str, *, verify: bool = True) -> Embeddings:
    """Open the vectors of one version; the tables stay on disk until they are used.

    What is open stays readable when the files are removed, as old versions are.

    Args:
        path: An `embeddings` folder, wherever it was copied to; or the folder of a version; or a
            state directory or its `current.json`, for the current version.
        verify: Compare the checksum of every file, which reads all of them once.

    Raises:
        StateCorruptedError: A file is missing or is not what was written.
        StateError: There are no embeddings at this place, or of another format.
    """
    for _ in range(_TRIES):
        folder, description = found = find_sidecar(Path(path))
        try:
            if verify:
                description.verify(folder)
            return Embeddings(folder, description)
        except StateCorruptedError:
            if find_sidecar(Path(path)) == found:
                raise
            # Another process has made another version current, and removed the files of this one.
    raise StateError(f"{path} leads to another version each time it is read; try again later")


class Embeddings:
    """The vectors of one version by IRI; `load` opens them."""

    def __init__(self, path: Path, description: Description) -> None:
        """Map the tables of a folder, and read the IRIs of their rows.

        Args:
            path: The `embeddings` folder.
            description: What its `sidecar.json` says.

        Raises:
            StateCorruptedError: A file is missing or damaged, or they do not belong together.
        """
        self.path = path
        self.version = description.version
        self.previous = description.previous
        self.graph_version = description.graph_version
        self.created = description.created
        self.model = description.model
        # Both outlive the folder, which retention may remove.
        self._tables = map_tables(path / TENSORS)
        self._terms = self._read_terms()

    def __len__(self) -> int:
        """How many entities have a vector."""
        return len(self._tables["entity"])

    def __contains__(self, iri: object) -> bool:
        """Whether an entity has a vector."""
        return isinstance(iri, str) and self._terms["entity"].id(iri) is not None

    def __repr__(self) -> str:
        rows, width = self._tables["entity"].shape
        return f"Embeddings(version={self.version}, entities={rows}, dimension={width})"

    def vector(self, iri: str, kind: Kind = "entity") -> Vector:
        """The vector of an entity or a relation, as a numpy array of its own.

        Raises:
            UnknownTermError: It has none in this version (also a KeyError).
        """
        return np.array(self.table(kind)[self._row(kind, iri)])

    def iris(self, kind: Kind = "entity") -> Any:
        """The IRIs of the rows of a table, in their order, as an Arrow string array."""
        return self._terms[_checked(kind)].iris

    def table(self, kind: Kind = "entity") -> Vector:
        """All vectors of a kind: a read-only array that is mapped from the file."""
        return self._tables[_checked(kind)]

    @overload
    def neighbors(self, iri: str, k: int = 10) -> list[Neighbor]: ...

    @overload
    def neighbors(self, iri: list[str], k: int = 10) -> list[list[Neighbor]]: ...

    def neighbors(self, iri: str | list[str], k: int = 10) -> list[Neighbor] | list[list[Neighbor]]:
        """The k entities whose vectors point most nearly the same way, nearest first.

        Args:
            iri: An entity; or several, for a list of neighbours each.
            k: How many.

        Raises:
            UnknownTermError: An IRI has no vector in this version.
        """
        if isinstance(iri, str):
            return self.neighbors([iri], k)[0]
        rows = np.array([self._row("entity", one) for one in iri], np.int64)
        names = self._terms["entity"]
        return [
            [Neighbor(names.name(i), float(cosine)) for i, cosine in zip(*found, strict=True)]
            for found in nearest(self._unit, rows, k)
        ]

    def export(
        self,
        path: Path | str,
        format: str | None = None,  # noqa: A002
        kind: Kind = "entity",
        *,
        force: bool = False,
    ) -> list[Path]:
        """Write the vectors of a kind in a format of other tools.

        Args:
            path: The file.
            format: "word2vec" (text), "npz" (which holds both kinds), "usearch" (an index, with a
                Parquet file of its IRIs beside it) or "parquet"; by default as the name ends.
            kind: Whose vectors.
            force: Overwrite what is there.

        Returns:
            The files that were written.

        Raises:
            ConfigError: The format is unknown or too small for such IRIs, the file is there
                already, or usearch is missing.
            StateWriteError: The disk refused.
        """
        vectors = {each: (terms.iris, self._tables[each]) for each, terms in self._terms.items()}
        return export(Path(path), vectors, _checked(kind), format, force=force)

    @cached_property
    def _unit(self) -> Vector:
        return unit_length(self._tables["entity"])

    def _read_terms(self) -> dict[str, TermTable]:
        path = self.path / INDEX
        try:
            index = pq.read_table(path, columns=["kind", "iri"])
        except (OSError, pa.ArrowException) as error:
            raise StateCorruptedError(
                f"cannot read {path}: {error}; copy the folder again"
            ) from error
        found = {}
        for kind in ("entity", "relation"):
            iris = index.filter(pc.equal(index["kind"], kind))["iri"].combine_chunks()
            if len(iris) != len(self._tables[kind]):
                raise StateCorruptedError(
                    f"{path} has {len(iris)} rows of kind {kind}, the table has "
                    f"{len(self._tables[kind])}: they are not of one version; copy the folder again"
                )
            found[kind] = TermTable(iris)
        return found

    def _row(self, kind: Kind, iri: str) -> int:
        terms = self._terms[_checked(kind)]
        row = terms.id(iri)
        if row is not None:
            return row
        close = terms.similar(iri, np.arange(len(terms), dtype=np.int32))
        hint = f"; did you mean {' or '.join(f'<{name}>' for name in close)}?" if close else ""
        raise UnknownTermError(f"there is no {kind} <{iri}> in version {self.version}{hint}")


def _checked(kind: Kind) -> Kind:
    if kind not in ("entity", "relation"):
        raise ConfigError(f'the kind is "entity" or "relation", not {kind!r}')
    return kind
