"""The data of a version: written into a folder, checked when read back, shown in current.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
from numpy.typing import NDArray

from kgsync.common.durable import RecordedFiles
from kgsync.errors import StateRequestError
from kgsync.graph.active import Active
from kgsync.graph.reading import Reading
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import Ids, TermIndex, TermTable
from kgsync.graph.versions import GraphVersion
from kgsync.state.directory import State, VersionFolder
from kgsync.state.manifest import Manifest
from kgsync.state.recent import Contents
from kgsync.state.sidecar import (
    FOLDER,
    FORMAT,
    TENSORS,
    Sidecar,
    read_tables,
    sidecar_files,
    write_sidecar,
)
from kgsync.state.tensors import dump_tensors, map_tables

__all__ = [
    "CommittedVersion",
    "GraphData",
    "current_version",
    "kept_version",
    "show_current",
    "write_version",
]

_TERMS, _EDGES = "terms.parquet", "edges.safetensors"
_LEARNING, _KEPT = "learning", "kept.safetensors"
_SHOWN = "current.json"
"""The stable entry point for reading a state without kgsync."""


@dataclass(frozen=True)
class GraphData:
    """The graph side of a version."""

    terms: TermIndex
    edges: Snapshot
    """All edges of the version, before filters; the base of the next difference."""
    active: Active
    last_seen: dict[str, Ids]
    """"entity" and "relation" -> for each id the last embedding version in which it was active."""


@dataclass(frozen=True)
class CommittedVersion:
    """One version in the state; its parts are loaded and checked on first use."""

    folder: VersionFolder
    contents: Contents | None = None
    """Its parts, if this process still has them; then nothing is loaded."""

    @property
    def manifest(self) -> Manifest:
        """What the version is."""
        return self.folder.manifest

    @property
    def number(self) -> int:
        """Its number."""
        return self.manifest.version

    @cached_property
    def graph_version(self) -> GraphVersion:
        """The graph version that it belongs to."""
        return GraphVersion(**self.manifest.graph_version)

    @property
    def triples(self) -> int:
        """How many triples the store had then, literals included."""
        return self.manifest.triples

    @property
    def skipped(self) -> dict[str, int]:
        """Triples that were not embedded, by reason."""
        return self.manifest.skipped

    @property
    def terms(self) -> TermIndex:
        """The ids assigned so far."""
        return self.graph.terms

    @property
    def edges(self) -> Snapshot:
        """All edges of the version, before filters."""
        return self.graph.edges

    @cached_property
    def graph(self) -> GraphData:
        """Ids, edges and active elements."""
        if self.contents is not None:
            return self.contents.graph
        table = pq.read_table(self.folder.verified(f"graph/{_TERMS}"))
        arrays = safetensors.numpy.load_file(self.folder.verified(f"graph/{_EDGES}"))
        key = bytes.fromhex(table.schema.metadata[b"key"].decode())
        kinds = table["kind"].combine_chunks()

        def terms(kind: str) -> TermTable:
            rows = table.filter(pa.compute.equal(kinds, kind))
            hashes = rows["hash"].to_numpy().astype(np.uint64)
            return TermTable(rows["iri"].combine_chunks(), hashes, key)

        return GraphData(
            TermIndex(key, terms("entity"), terms("relation")),
            Snapshot(arrays["heads"], arrays["relations"], arrays["tails"]),
            Active(arrays["living_entities"], arrays["living_relations"]),
            {"entity": arrays["entity_last_seen"], "relation": arrays["relation_last_seen"]},
        )

    @property
    def reading(self) -> Reading | None:
        """What it was made from, if this process still has that."""
        return None if self.contents is None else self.contents.reading

    @property
    def active(self) -> Active:
        """Which elements the rows of the tables belong to."""
        return self.graph.active

    @property
    def model(self) -> dict[str, Any]:
        """The settings of its model."""
        return self.manifest.model

    @property
    def quality(self) -> dict[str, Any] | None:
        """Its measured quality."""
        quality: dict[str, Any] | None = self.manifest.report["quality"]
        return quality

    def check_graph(self) -> None:
        """Read the graph now.

        Raises:
            StateCorruptedError: It is damaged.
        """
        _ = self.graph

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What updates remember besides the vectors, as numpy arrays; nothing in older versions."""
        if self.contents is not None:
            return dict(self.contents.kept)
        name = f"{_LEARNING}/{_KEPT}"
        if name not in self.manifest.files:
            return {}
        return dict(safetensors.numpy.load_file(self.folder.verified(name)))

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The model's tables as numpy arrays."""
        if self.contents is not None:
            return dict(self.contents.tables)
        path = self.folder.verified(f"{FOLDER}/{TENSORS}")
        return dict(read_tables(path.parent))


def current_version(state: State, *, in_memory: bool = False) -> CommittedVersion | None:
    """The committed version of a state; None before the first.

    Args:
        state: The state.
        in_memory: Take what this process still has of it; only for those who do not change it.

    Raises:
        StateError: The state is damaged, or of another format or store.
    """
    if not state.exists:
        return None
    state.check_identity()
    folder = state.current()
    if folder is None:
        return None
    return CommittedVersion(folder, state.recent.of(folder) if in_memory else None)


def kept_version(state: State, number: int) -> CommittedVersion:
    """One committed version that still has its files.

    Raises:
        StateRequestError: There is no such version, or its files are gone.
        StateError: The state is damaged.
    """
    if not state.exists or not state.has(number):
        kept = state.retained_versions()
        raise StateRequestError(
            f"there is no embedding version {number} in {state.path}; {_with_files(kept)}"
        )
    folder = state.version(number)
    if not folder.retained:
        kept = state.retained_versions()
        raise StateRequestError(
            f"the files of version {number} were removed; {_with_files(kept)} (state.keep)"
        )
    return CommittedVersion(folder)


def _with_files(kept: list[int]) -> str:
    return f"versions with files: {', '.join(map(str, kept)) or 'none'}"


def show_current(state: State, folder: VersionFolder) -> None:
    """Write a version into current.json, if it is not there; only called under the lock.

    Args:
        state: The state.
        folder: Its committed version.

    Raises:
        StateCorruptedError: The committed version cannot be read.
        StateWriteError: Writing to disk failed.
    """
    shown, manifest = state.recall(_SHOWN), folder.manifest
    if isinstance(shown, dict) and (shown.get("version"), shown.get("created")) == (
        manifest.version,
        manifest.created,
    ):
        return
    state.remember(_SHOWN, _shown(folder))


def _shown(folder: VersionFolder) -> dict[str, Any]:
    manifest = folder.manifest
    tensors = map_tables(folder.path / FOLDER / TENSORS)
    return {
        "format": FORMAT,
        "version": manifest.version,
        "previous": manifest.previous,
        "graph_version": manifest.graph_version["name"],
        "created": manifest.created,
        "folder": f"{folder.path.name}/{FOLDER}",
        "model": manifest.model,
        "dimension": int(tensors["entity"].shape[1]),
        "files": sidecar_files(manifest.files),
    }


def write_version(
    draft: Path, graph: GraphData, sidecar: Sidecar, kept: Mapping[str, NDArray[Any]]
) -> dict[str, dict[str, Any]]:
    """Write the files of a version into a draft folder.

    Args:
        draft: The folder.
        graph: The graph side.
        sidecar: The published side.
        kept: What updates remember besides; no file if it is nothing.

    Returns:
        What is recorded about every file, by its name in the folder.

    Raises:
        OSError: Writing to disk failed.
    """
    graph_files, files = RecordedFiles(draft / "graph"), RecordedFiles(draft / FOLDER)
    _write_graph(graph_files, graph)
    write_sidecar(files, sidecar)
    folders = [graph_files, files]
    if kept:
        folders.append(RecordedFiles(draft / _LEARNING))
        with folders[-1].writing(_KEPT) as file:
            dump_tensors(file, kept)
    found = {
        f"{each.folder.name}/{name}": about
        for each in folders
        for name, about in each.recorded.items()
    }
    return dict(sorted(found.items()))


def _write_graph(files: RecordedFiles, graph: GraphData) -> None:
    terms = graph.terms
    iris = pa.concat_arrays([terms.entities.iris, terms.relations.iris])
    entities, relations = terms.sizes
    kind = pa.concat_arrays([pa.repeat("entity", entities), pa.repeat("relation", relations)])
    hashes = np.concatenate([terms.entities.hashes, terms.relations.hashes])
    table = pa.table({"kind": kind, "iri": iris, "hash": hashes})
    table = table.replace_schema_metadata({"key": terms.key.hex()})
    with files.writing(_TERMS) as file:
        pq.write_table(table, file, compression="zstd")
    heads, relation, tails = graph.edges.columns
    arrays = {
        "heads": heads,
        "relations": relation,
        "tails": tails,
        "living_entities": graph.active.entities,
        "living_relations": graph.active.relations,
        "entity_last_seen": graph.last_seen["entity"],
        "relation_last_seen": graph.last_seen["relation"],
    }
    with files.writing(_EDGES) as file:
        dump_tensors(file, arrays)
