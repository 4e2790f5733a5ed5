"""The vectors in a graph of literals, as they are or shall be, and the way between them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyoxigraph as ox
import safetensors.numpy
from numpy.typing import NDArray

from kgsync.publish.sidecar import INDEX, TENSORS, read_tables
from kgsync.queries import is_iri

__all__ = ["KINDS", "Changes", "Content"]

KINDS = {
    "entity": "https://w3id.org/kgsync/ns#embedding",
    "relation": "https://w3id.org/kgsync/ns#relationEmbedding",
}
"""Kind of element -> property of its literal. An IRI may be both."""


@dataclass(frozen=True)
class Content:
    """Vectors by IRI, as they are, or as they are to be, in a graph."""

    iris: dict[str, Any]
    """Kind -> Arrow string array."""
    tables: dict[str, NDArray[np.float32]]
    """Kind -> one vector a row."""

    def __len__(self) -> int:
        return sum(len(iris) for iris in self.iris.values())

    @classmethod
    def of_sidecar(cls, folder: Path) -> Content:
        """What the sidecar files of a version say."""
        index, tables = pq.read_table(folder / INDEX), read_tables(folder)
        iris = {k: index.filter(pc.equal(index["kind"], k))["iri"].combine_chunks() for k in KINDS}
        return cls(iris, {kind: tables[kind] for kind in KINDS})

    @classmethod
    def load(cls, folder: Path) -> Content | None:
        """What was saved; None if it cannot be read."""
        try:
            return cls.of_sidecar(folder)
        except (OSError, KeyError, pa.ArrowException, safetensors.SafetensorError):
            return None

    def writable(self) -> Content:
        """Without those whose name a store would refuse."""
        keep = {
            kind: np.array([*map(_is_writable, self.iris[kind].to_pylist())], bool)
            for kind in KINDS
        }
        return Content(
            {kind: self.iris[kind].filter(pa.array(keep[kind])) for kind in KINDS},
            {kind: self.tables[kind][keep[kind]] for kind in KINDS},
        )

    def save(self, folder: Path) -> None:
        """Keep it, in the way of a sidecar."""
        beside = folder.with_name(folder.name + ".new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        safetensors.numpy.save_file(self.tables, beside / TENSORS)
        kinds = [pa.repeat(kind, len(self.iris[kind])) for kind in KINDS]
        iris = [self.iris[kind] for kind in KINDS]
        index = pa.table({"kind": pa.concat_arrays(kinds), "iri": pa.concat_arrays(iris)})
        pq.write_table(index, beside / INDEX)
        shutil.rmtree(folder, ignore_errors=True)
        beside.rename(folder)

    def changes_from(self, old: Content | None, tolerance: float) -> dict[str, Changes]:
        """What has to be done to a graph that holds `old`, by kind."""
        return {kind: self._changes(kind, old, tolerance) for kind in KINDS}

    def _changes(self, kind: str, old: Content | None, tolerance: float) -> Changes:
        iris, table = self.iris[kind], self.tables[kind]
        if old is None or old.tables[kind].shape[1:] != table.shape[1:]:
            gone = old.iris[kind] if old else iris[:0]
            return Changes(np.arange(len(table)), iris[:0], gone, np.empty(0, np.float32))
        at = pc.fill_null(pc.index_in(iris, value_set=old.iris[kind]), -1).to_numpy()
        stays = np.flatnonzero(at >= 0)
        before = old.tables[kind][at[stays]].reshape(len(stays), -1)
        after = table[stays].reshape(len(stays), -1)
        distance = np.linalg.norm(after - before, axis=1)
        # Exactly the same, where nothing else is tolerated: also the sign of a zero.
        moved = distance > tolerance if tolerance else _bits(after) != _bits(before)
        left = np.ones(len(old.iris[kind]), bool)
        left[at[stays]] = False
        replaced = stays[moved]
        return Changes(
            np.union1d(replaced, np.flatnonzero(at < 0)),
            iris.take(pa.array(replaced)),
            old.iris[kind].filter(pa.array(left)),
            distance[moved],
        )

    def after(self, old: Content | None, changes: dict[str, Changes]) -> Content:
        """What a graph that held `old` holds when the changes are made."""
        if old is None:
            return self
        tables = {}
        for kind, change in changes.items():
            table = self.tables[kind].copy()
            kept = np.setdiff1d(np.arange(len(table)), change.written)
            at = pc.index_in(self.iris[kind].take(pa.array(kept)), value_set=old.iris[kind])
            if len(kept):
                table[kept] = old.tables[kind][at.to_numpy()]
            tables[kind] = table
        return Content(self.iris, tables)


@dataclass(frozen=True)
class Changes:
    """What has to be done to the literals of one kind."""

    written: NDArray[np.int64]
    """Rows of the new content."""
    replaced: Any
    """IRIs whose old literal goes first."""
    removed: Any
    """IRIs whose literal goes for good."""
    distances: NDArray[np.float32]
    """How far those that are replaced have moved."""


def _is_writable(iri: str) -> bool:
    if not is_iri(iri):
        return False
    try:
        ox.NamedNode(iri)
    except ValueError:
        return False
    return True


def _bits(rows: NDArray[np.float32]) -> NDArray[np.void]:
    """Rows as values that are equal only if all their bits are."""
    whole = np.ascontiguousarray(rows)
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).reshape(-1)
