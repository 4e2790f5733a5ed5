"""Records of what moved: small files that answer why a vector moved when the version's are gone.

A record has one row per element that was added, moved or deleted, and one per added or deleted
triple. They are named by ids, which the current version resolves: its index knows all terms of the
versions it came from. A record is on disk before its version is sealed, and the manifest has its
checksum. So a record without a committed version is never read, and the next attempt replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgsync.common.durable import RecordedFiles, sha256_of, sync_to_disk
from kgsync.errors import StateCorruptedError, StateError
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.state.delta import RowChange
from kgsync.state.directory import State, VersionFolder, folder_name
from kgsync.state.manifest import Manifest
from kgsync.state.report import StepReport

__all__ = ["Moves", "Record", "line_of"]

_FOLDER, _SUFFIX = "moves", ".parquet"
_LABELS = pa.dictionary(pa.int8(), pa.string())
_SCHEMA = pa.schema(
    [
        ("kind", _LABELS),  # entity, relation, triple
        ("change", _LABELS),  # added, moved, deleted
        ("id", pa.int32()),  # of a triple, the head
        ("relation", pa.int32()),
        ("tail", pa.int32()),
        ("distance", pa.float32()),
    ]
)
_SORTED_IDS = "DELTA_BINARY_PACKED"
_COLUMNS = {
    "id": _SORTED_IDS,
    "relation": _SORTED_IDS,
    "tail": _SORTED_IDS,
    "distance": "BYTE_STREAM_SPLIT",
}


@dataclass(frozen=True)
class Record:
    """What happened between a version and the one before."""

    version: int
    about: dict[str, Any]
    """previous, graph_version, created, action, quality."""
    rows: Any
    """An Arrow table."""

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        report: StepReport,
        elements: Iterable[RowChange],
        change: ChangeSet | None,
    ) -> Record:
        """The record of a version.

        Args:
            manifest: What the version is.
            report: What was done.
            elements: The elements that were added, moved or deleted.
            change: The triples that were added or deleted; None before the first version.
        """
        parts = [_elements(each) for each in elements]
        if change is not None:
            parts.append(_triples("added", change.added_triples))
            parts.append(_triples("deleted", change.deleted_triples))
        about = {
            "version": manifest.version,
            "previous": manifest.previous,
            "graph_version": manifest.graph_version["name"],
            "created": manifest.created,
            "action": report.action,
            "quality": report.quality,
        }
        return cls(manifest.version, about, pa.concat_tables(parts).unify_dictionaries())


class Moves:
    """The records of one state."""

    def __init__(self, state: Path) -> None:
        """Name the folder; nothing is read yet."""
        self._path = state / _FOLDER

    def write(self, record: Record) -> dict[str, Any]:
        """Write the record of a version that is not committed yet; only called under the lock.

        Returns:
            sha256 and bytes, for its manifest.

        Raises:
            OSError: Writing to disk failed.
        """
        files, name = RecordedFiles(self._path), _name(record.version)
        rows = record.rows.replace_schema_metadata({"kgsync": json.dumps(record.about)})
        try:
            with files.writing(name) as file:
                pq.write_table(
                    rows,
                    file,
                    compression="zstd",
                    use_dictionary=["kind", "change"],
                    column_encoding=_COLUMNS,
                )
            sync_to_disk(self._path)
        except OSError:
            (self._path / name).unlink(missing_ok=True)  # where space is short
            raise
        return files.recorded[name]

    def read(self, manifest: Manifest) -> Record | None:
        """The record of a committed version; None if it has none, or none any more.

        Raises:
            StateCorruptedError: It is not what was committed.
        """
        path = self._path / _name(manifest.version)
        if manifest.moves is None:
            return None
        try:
            if sha256_of(path) != manifest.moves["sha256"]:
                raise StateCorruptedError(
                    f"{path} does not match its checksum; restore it from a backup, or remove it "
                    "to read the other records"
                )
            rows = pq.read_table(path)
        except FileNotFoundError:
            return None  # retention has removed it
        except OSError as error:
            raise StateCorruptedError(
                f"cannot read {path}: {error}; restore it from a backup, or remove it to read the "
                "other records"
            ) from error
        return Record(manifest.version, json.loads(rows.schema.metadata[b"kgsync"]), rows)

    def drop(self, keep: int, newest: VersionFolder) -> None:
        """Remove the records of all but the last versions; only called under the lock.

        Args:
            keep: How many version numbers back; 0 removes none.
            newest: The version that is current.

        Raises:
            OSError: Writing to disk failed.
        """
        last = newest.manifest.version - keep
        if keep == 0 or last < 1:
            return
        for path in self._path.glob(f"*{_SUFFIX}"):
            if path.stem.isdecimal() and int(path.stem) <= last:
                path.unlink(missing_ok=True)


def line_of(state: State, version: int) -> Iterator[VersionFolder]:
    """A version, the one it came from, and so on; what was rolled back is not in it.

    Raises:
        StateError: There is no such version.
        StateCorruptedError: A manifest cannot be read.
    """
    folder: VersionFolder | None = state.version(version)
    while folder is not None:
        yield folder
        previous = folder.manifest.previous
        try:
            folder = None if previous is None else state.version(previous)
        except StateCorruptedError:
            raise
        except StateError:
            return  # it was set aside, or removed by hand


def _name(version: int) -> str:
    return f"{folder_name(version)}{_SUFFIX}"


def _elements(change: RowChange) -> Any:
    none = pa.nulls(len(change.ids), pa.int32())
    if change.distance is None:
        distance = pa.nulls(len(change.ids), pa.float32())
    else:
        distance = pa.array(change.distance)
    return _table(change.kind, change.change, pa.array(change.ids), none, none, distance)


def _triples(change: str, triples: Snapshot) -> Any:
    ids = (pa.array(column) for column in triples.columns)
    return _table("triple", change, *ids, pa.nulls(len(triples), pa.float32()))


def _table(kind: str, change: str, *columns: Any) -> Any:
    size = len(columns[0])
    codes = pa.array(np.zeros(size, np.int8))
    labels = [pa.DictionaryArray.from_arrays(codes, [text]) for text in (kind, change)]
    return pa.Table.from_arrays([*labels, *columns], schema=_SCHEMA)
