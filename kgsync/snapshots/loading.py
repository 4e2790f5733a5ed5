"""Loading built versions into a store, each into its own named graph, described when complete.

A graph is marked as unfinished before its first triple, and the mark is taken off with the
description; kgsync never reads a marked graph. So a load that is cut short can be run again: what
is complete stays, what is half there is replaced, and nothing else in the store is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from kgsync import queries
from kgsync.common.rdf_terms import XSD
from kgsync.errors import ConfigError, PermanentStoreError, VersionError
from kgsync.graph.port import OUTPUT_GRAPH, GraphStore, TripleSource
from kgsync.graph.snapshot import Snapshot
from kgsync.snapshots.version import BuiltVersion

__all__ = ["Destination", "LoadedVersion", "check_target", "load_versions"]

_MARKS = 2
"""Triples of the mark in an unfinished graph."""


@dataclass(frozen=True)
class Destination:
    """Which named graphs the versions go to, and where they are described."""

    graphs: str
    """IRI of a version's graph, with {version} in it."""
    catalog: str | None = None
    """Named graph of the descriptions; None for the default graph."""

    def __post_init__(self) -> None:
        if self.graphs.count("{version}") != 1:
            raise ConfigError(
                f"the graphs' IRI must contain {{version}} exactly once: {self.graphs!r}"
            )
        for iri in (self.graph("0"), self.catalog or self.graph("0")):
            queries.check_iri(iri)

    def graph(self, name: str) -> str:
        """The named graph of one version."""
        return self.graphs.replace("{version}", name)


@dataclass(frozen=True)
class LoadedVersion:
    """One version in the store, and how it differs from the one before."""

    graph: str
    title: str
    issued: str | None
    triples: int
    edges: int
    """Triples of three valid IRIs: what kgsync embeds."""
    entities: int
    relations: int
    added: int
    """Edges that the version before lacks."""
    deleted: int
    loaded: bool
    """Whether it was loaded just now, else it was there already."""
    without_effect: int
    """Changes of its source that changed nothing."""


def check_target(target: str) -> None:
    """Reject a directory that is not a store.

    Raises:
        ConfigError: It is not a store.
    """
    path = Path(target)
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if path.is_file() or (names and not names & {"CURRENT", "LOCK"}):
        raise ConfigError(f"{target} is not a store; choose a new directory")


def load_versions(
    store: GraphStore, versions: Iterable[BuiltVersion], destination: Destination
) -> Iterator[LoadedVersion]:
    """Load versions, oldest first; each is complete and described when it is yielded.

    Args:
        store: The open store.
        versions: The versions, made when their turn comes.
        destination: Where they go.

    Raises:
        VersionError: A graph of that name holds something else.
        StoreError: The store cannot be written.
    """
    if not (store.capabilities.writable and store.capabilities.named_graphs):
        raise PermanentStoreError(f"{store.label} is read-only; choose another store")
    catalogue = _Catalogue(store, destination)
    before: BuiltVersion | None = None
    for version in versions:
        loaded = catalogue.load(version, before)
        old = before.edges if before else Snapshot.empty()
        yield LoadedVersion(
            graph=destination.graph(version.name),
            title=version.title,
            issued=version.issued,
            triples=version.triples,
            edges=len(version.edges),
            entities=len(version.edges.entities),
            relations=len(version.edges.relation_ids),
            added=len(version.edges.minus(old)),
            deleted=len(old.minus(version.edges)),
            loaded=loaded,
            without_effect=version.without_effect,
        )
        before = version


class _Catalogue:
    """What a store has of the versions so far."""

    def __init__(self, store: GraphStore, destination: Destination) -> None:
        self._store = store
        self._destination = destination
        self._present = set(store.graphs())
        rows = store.select(queries.load("_unfinished_snapshots").bind())
        self._unfinished = {row[0].value for row in rows if row[0]}
        self._described: dict[str, tuple[str, int]] = {}
        described = store.select(queries.load("_described_snapshots").bind())
        for catalog, graph, identifier, triples in described:
            here = destination.catalog == (catalog.value if catalog else None)
            if here and graph and identifier and triples and triples.value.isdecimal():
                self._described[graph.value] = (identifier.value, int(triples.value))

    def load(self, version: BuiltVersion, before: BuiltVersion | None) -> bool:
        """Load a version unless it is there already; whether it was loaded."""
        graph = self._destination.graph(version.name)
        if graph in self._present and graph not in self._unfinished:
            self._check_same(graph, version)
            return False
        begin = queries.load("_begin_snapshot").bind(graph=graph, marker=OUTPUT_GRAPH)
        self._store.update(begin)
        checksum = _checksum(version, lambda piece: self._store.insert(graph, piece))
        triples = self._store.count(TripleSource(graph)) - _MARKS
        # A store may take two literals for one: "A"@en and "A"@EN.
        if not len(version.edges) <= triples <= version.triples:
            raise PermanentStoreError(
                f"{self._store.label} has {triples:,} of the {version.triples:,} triples that "
                f"were loaded into <{graph}>; the graph stays marked as unfinished"
            )
        self._describe(graph, version, before, triples, checksum)
        return True

    def _check_same(self, graph: str, version: BuiltVersion) -> None:
        if graph not in self._described:
            problem = "already exists, but not as a version of this catalogue"
        elif self._described[graph][0] != _checksum(version):
            problem = "is a version built from other data or with other settings"
        elif self._described[graph][1] != self._store.count(TripleSource(graph)):
            problem = "has changed since it was loaded"
        else:
            return
        raise VersionError(
            f"<{graph}> in {self._store.label} {problem}; choose other graphs or another store"
        )

    def _describe(
        self,
        graph: str,
        version: BuiltVersion,
        before: BuiltVersion | None,
        triples: int,
        checksum: str,
    ) -> None:
        issued = version.issued or ""
        values: dict[str, queries.Value] = {
            "graph": graph,
            "version": version.name,
            "title": version.title,
            "identifier": checksum,
            "triples": triples,
            "previous": self._destination.graph(before.name) if before else "",
            "issued": issued,
            "datatype": XSD + ("dateTime" if "T" in issued else "date"),
            "marker": OUTPUT_GRAPH,
        }
        query = "_describe_snapshot_default"
        if self._destination.catalog is not None:
            query = "_describe_snapshot"
            values["catalog"] = self._destination.catalog
        self._store.update(queries.load(query).bind(**values))


def _checksum(version: BuiltVersion, send: Callable[[str], None] | None = None) -> str:
    """The checksum of a version's N-Triples, which are sent on at the same time."""
    digest = sha256()
    for piece in version.ntriples():
        digest.update(piece.encode())
        if send is not None:
            send(piece)
    return f"sha256:{digest.hexdigest()}"
