"""The current and the target vectors of a literal graph, and the changes between them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyoxigraph as ox
from numpy.typing import NDArray

from kgsync.common.durable import (
    UNFINISHED,
    RecordedFiles,
    recorded,
    sealed,
    sync_to_disk,
    unsealed,
)
from kgsync.common.rdf_terms import KGE
from kgsync.errors import StateCorruptedError
from kgsync.queries import is_iri
from kgsync.state.delta import blocks, distances
from kgsync.state.sidecar import INDEX, TENSORS, Sidecar
from kgsync.state.tensors import dump_tensors, map_tables

__all__ = ["KINDS", "Changes", "Content", "Names", "is_writable"]

KINDS = {
    "entity": f"{KGE}embedding",
    "relation": f"{KGE}relationEmbedding",
}
"""Kind of element -> property of its literal. An IRI may be both."""
_ABOUT = "copy.json"

Names = dict[str, list[str]]
"""Kind of element -> IRIs."""


@dataclass(frozen=True)
class Content:
    """Vectors by IRI, as they are or will be in a graph."""

    iris: dict[str, Any]
    """Kind -> Arrow string array."""
    tables: dict[str, NDArray[np.float32]]
    """Kind -> one vector per row; may be memory-mapped."""

    def __len__(self) -> int:
        return sum(self.rows.values())

    @property
    def rows(self) -> dict[str, int]:
        """How many vectors of each kind there are."""
        return {kind: len(iris) for kind, iris in self.iris.items()}

    @classmethod
    def of(cls, sidecar: Sidecar) -> Content:
        """The vectors of a version whose tables are in memory."""
        tables = {kind: sidecar.tables[kind] for kind in KINDS}
        flat = {kind: t.reshape(len(t), prod(t.shape[1:])) for kind, t in tables.items()}
        return cls({kind: sidecar.iris[kind] for kind in KINDS}, flat)

    @classmethod
    def of_sidecar(cls, folder: Path) -> Content:
        """The vectors in the sidecar files of a version.

        Raises:
            StateCorruptedError: They do not fit each other.
        """
        index, tables = pq.read_table(folder / INDEX), map_tables(folder / TENSORS)
        iris = {k: index.filter(pc.equal(index["kind"], k))["iri"].combine_chunks() for k in KINDS}
        flat = {k: t.reshape(len(t), prod(t.shape[1:])) for k, t in tables.items() if k in KINDS}
        names, rows = ({k: len(part) for k, part in parts.items()} for parts in (iris, flat))
        if names != rows:
            raise StateCorruptedError(
                f"{INDEX} in {folder} names {names}, but {TENSORS} has {rows}; restore the state "
                "from a backup or run `kgsync rebuild`"
            )
        return cls(iris, flat)

    @classmethod
    def load(cls, folder: Path) -> Content | None:
        """What was saved; None if it cannot be read."""
        try:
            return cls.of_sidecar(folder)
        except (OSError, KeyError, ValueError, pa.ArrowException, StateCorruptedError):
            return None

    @staticmethod
    def digest_of_saved(folder: Path) -> str | None:
        """What `save` was told about a folder; None if anything in it is not what was saved."""
        try:
            if not (folder / _ABOUT).exists():  # older versions of kgsync wrote no checksums
                return (folder / "copy_of").read_text(encoding="utf-8")
            about = unsealed(json.loads((folder / _ABOUT).read_text(encoding="utf-8")))
            found = {name: recorded(folder / name) for name in about["files"]}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return str(about["copy_of"]) if found == about["files"] else None

    def writable(self) -> Content:
        """Without elements whose IRI a store would refuse."""
        return self._only({kind: _writable(self.iris[kind]) for kind in KINDS})

    def without(self, names: Names) -> Content:
        """Without some elements, by kind."""
        return self._only(
            {
                kind: ~np.asarray(
                    pc.is_in(iris, value_set=pa.array(names.get(kind, []), iris.type))
                )
                for kind, iris in self.iris.items()
            }
        )

    def _only(self, keep: dict[str, NDArray[np.bool_]]) -> Content:
        if all(flags.all() for flags in keep.values()):
            return self
        return Content(
            {kind: self.iris[kind].filter(pa.array(keep[kind])) for kind in KINDS},
            {kind: self.tables[kind][keep[kind]] for kind in KINDS},
        )

    def save(self, folder: Path, digest: str) -> None:
        """Save it in sidecar format, with what it is a copy of."""
        beside = folder.with_name(folder.name + UNFINISHED)
        shutil.rmtree(beside, ignore_errors=True)
        beside.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._write(beside, digest)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        beside.rename(folder)
        sync_to_disk(folder.parent)

    def _write(self, folder: Path, digest: str) -> None:
        whole = {kind: np.ascontiguousarray(table) for kind, table in self.tables.items()}
        files = RecordedFiles(folder)
        with files.writing(TENSORS) as file:
            dump_tensors(file, whole)
        kinds = [pa.repeat(kind, len(self.iris[kind])) for kind in KINDS]
        iris = [self.iris[kind] for kind in KINDS]
        index = pa.table({"kind": pa.concat_arrays(kinds), "iri": pa.concat_arrays(iris)})
        with files.writing(INDEX) as file:
            pq.write_table(index, file)
        about = {"copy_of": digest, "files": {n: files.recorded[n] for n in (INDEX, TENSORS)}}
        with files.writing(_ABOUT) as file:
            file.write(json.dumps(sealed(about)).encode())
        sync_to_disk(folder)

    def changes_from(self, old: Content | None, tolerance: float) -> dict[str, Changes]:
        """The changes from a graph that holds `old`, by kind."""
        return {kind: self._changes(kind, old, tolerance) for kind in KINDS}

    def _changes(self, kind: str, old: Content | None, tolerance: float) -> Changes:
        iris, table = self.iris[kind], self.tables[kind]
        if old is None or old.tables[kind].shape[1] != table.shape[1]:
            gone = old.iris[kind] if old else iris[:0]
            return Changes(np.arange(len(table)), iris[:0], gone, np.empty(0, np.float32))
        at = pc.fill_null(pc.index_in(iris, value_set=old.iris[kind]), -1).to_numpy()
        stays = np.flatnonzero(at >= 0)
        distance = distances(old.tables[kind], at[stays], table, stays)
        if tolerance:
            moved = ~(distance <= tolerance)  # so that NaN is replaced too
        else:
            moved = _differ(old.tables[kind], at[stays], table, stays)
        left = np.ones(len(old.iris[kind]), bool)
        left[at[stays]] = False
        replaced = stays[moved]
        return Changes(
            np.union1d(replaced, np.flatnonzero(at < 0)),
            iris.take(pa.array(replaced)),
            old.iris[kind].filter(pa.array(left)),
            distance[moved],
        )

    def after(self, old: Content | None, changes: dict[str, Changes], tolerance: float) -> Content:
        """The content of a graph that held `old`, after the changes."""
        if old is None or not tolerance:
            return self
        tables = {}
        for kind, change in changes.items():
            table = np.array(self.tables[kind])
            kept = np.setdiff1d(np.arange(len(table)), change.written)
            at = pc.index_in(self.iris[kind].take(pa.array(kept)), value_set=old.iris[kind])
            table[kept] = old.tables[kind][at.to_numpy().astype(np.int64)]
            tables[kind] = table
        return Content(self.iris, tables)


@dataclass(frozen=True)
class Changes:
    """The changes to the literals of one kind."""

    written: NDArray[np.int64]
    """Rows of the new content."""
    replaced: Any
    """IRIs whose old literal is removed first."""
    removed: Any
    """IRIs whose literal is removed."""
    distances: NDArray[np.float32]
    """How far the replaced vectors have moved."""


def _writable(iris: Any) -> NDArray[np.bool_]:
    step = 100_000  # strings of Python at a time
    parts = [
        np.array([*map(is_writable, iris[start : start + step].to_pylist())], bool)
        for start in range(0, len(iris), step)
    ]
    return np.concatenate([np.empty(0, bool), *parts])


def is_writable(iri: str) -> bool:
    """Whether stores accept a text as an IRI, in data and in queries."""
    if not is_iri(iri):
        return False
    try:
        ox.NamedNode(iri)
    except ValueError:
        return False
    return True


def _differ(
    old: NDArray[np.float32],
    old_rows: NDArray[np.int64],
    new: NDArray[np.float32],
    new_rows: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether rows are not exactly the same, also in the sign of a zero."""
    found = np.empty(len(new_rows), bool)
    for part in blocks(len(new_rows), new.shape[1]):
        before, after = old[old_rows[part]], new[new_rows[part]]
        found[part] = (after.view(np.uint32) != before.view(np.uint32)).any(axis=1)
    return found
