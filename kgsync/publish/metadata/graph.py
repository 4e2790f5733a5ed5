"""The metadata graph: describes every embedding version in the store, next to the data.

A version is published in three idempotent steps: `stage` describes it, the state commits it, `flip`
makes it the current one for readers of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyoxigraph as ox
from rdflib import Graph, Literal, URIRef
from rdflib.term import Node

from kgsync import queries
from kgsync.errors import ConfigError, PermanentStoreError
from kgsync.graph.port import GraphStore
from kgsync.publish.metadata.description import (
    dataset_iri,
    describe,
    run_iri,
    source_iri,
    version_iri,
)
from kgsync.state.manifest import Manifest

__all__ = ["LiteralCopy", "MetadataGraph"]

_NAMED = 500
"""Versions in one query or update."""


@dataclass(frozen=True)
class LiteralCopy:
    """The vectors of a version as literals in a named graph of the same store."""

    graph: str
    datatype: str
    """IRI of the literals' datatype."""
    rows: int
    """How many literals there are."""
    written: int
    """How many of them were written."""
    farthest: float
    """How far the farthest of them had moved since it was written before."""


@dataclass(frozen=True)
class MetadataGraph:
    """One sync's metadata graph in one store."""

    graph: str
    owner: str
    """UUID of the state that writes here."""
    base_url: str | None = None
    """URL of the state directory; without it, the files have file: URLs."""

    @property
    def dataset(self) -> str:
        """The data set whose versions these are."""
        return dataset_iri(self.graph)

    def version_iri(self, version: int) -> str:
        """One embedding version."""
        return version_iri(self.graph, version)

    def run_iri(self, version: int) -> str:
        """The run that made an embedding version."""
        return run_iri(self.graph, version)

    def head(self, store: GraphStore) -> int | None:
        """The current version in the store, or None if there is none of ours.

        Raises:
            PermanentStoreError: The graph belongs to someone else.
        """
        rows = store.select(queries.load("_head").bind(graph=self.graph))
        if not rows:
            if store.select(queries.load("_has_triples").bind(graph=self.graph)):
                raise PermanentStoreError(
                    f"<{self.graph}> in {store.label} holds triples that kgsync did not write; "
                    "set publish.graph to another graph"
                )
            return None
        owners = {row[0].value for row in rows if row[0] is not None}
        if owners != {self.owner}:
            raise PermanentStoreError(
                f"<{self.graph}> in {store.label} belongs to another sync ({', '.join(owners)}); "
                "use that sync's state, set publish.graph to another graph, or, if that state is "
                "gone for good, drop the graph from the store"
            )
        current = rows[0][1]
        return None if current is None else int(current.value)

    def stage(
        self,
        store: GraphStore,
        manifest: Manifest,
        folder: Path,
        *,
        endpoint: str | None = None,
    ) -> None:
        """Describe a version, replacing an earlier description; it is not current yet.

        The caller has seen by `head` that the graph is ours.

        Args:
            store: Where the graph is.
            manifest: What is recorded of the version.
            folder: Its folder in the state, with its files.
            endpoint: Address of the endpoint that the graph was read from, if it was one.
        """
        version, run = self.version_iri(manifest.version), self.run_iri(manifest.version)
        triples = describe(
            self.graph,
            self.owner,
            manifest,
            folder,
            base_url=self.base_url,
            endpoint=endpoint,
        )
        update = queries.load("_describe_version").bind(
            graph=self.graph,
            nodes=sorted({*self._nodes(store, manifest.version), *_own(triples, version, run)}),
            source=source_iri(self.graph, manifest),
            triples=_oxigraph_triples(triples),
        )
        store.update(update)

    def _nodes(self, store: GraphStore, version: int) -> set[str]:
        """What is there of a version and belongs to it alone."""
        query = queries.load("_version_nodes").bind(
            graph=self.graph, version=self.version_iri(version), run=self.run_iri(version)
        )
        return {row[0].value for row in store.select(query) if row[0] is not None}

    def described(self, store: GraphStore) -> int:
        """How many versions have a description, complete or not."""
        query = queries.load("_count_versions").bind(graph=self.graph, dataset=self.dataset)
        return sum(int(row[0].value) for row in store.select(query) if row[0] is not None)

    def missing(self, store: GraphStore, created: Mapping[int, str]) -> set[int]:
        """Which versions are not described, or only in part, or were others when they were.

        A number is used twice if its commit never came; the time tells the two apart.

        Args:
            store: Where the graph is.
            created: Version -> when it was made.
        """
        issued: dict[str, list[str]] = {}
        for some in self._some(created):
            query = queries.load("_described_versions").bind(graph=self.graph, versions=some)
            for number, moment, *_ in store.select(query):
                if number and moment:
                    issued.setdefault(number.value, []).append(moment.value)
        return {
            version
            for version, time in created.items()
            if not _is_once(time, issued.get(str(version), []))
        }

    def flip(self, store: GraphStore, version: int) -> None:
        """Make a staged version the current one."""
        store.update(
            queries.load("_move_head").bind(
                graph=self.graph, dataset=self.dataset, version=self.version_iri(version)
            )
        )

    def forget_files(self, store: GraphStore, versions: Iterable[int]) -> None:
        """Remove the files from the descriptions of versions whose files are gone."""
        for some in self._some(versions):
            store.update(queries.load("_forget_files").bind(graph=self.graph, versions=some))

    def _some(self, versions: Iterable[int]) -> Iterator[list[str]]:
        iris = [self.version_iri(version) for version in versions]
        for start in range(0, len(iris), _NAMED):
            yield iris[start : start + _NAMED]

    def literals(self, store: GraphStore) -> str | None:
        """The literal graph linked from the current version."""
        rows = store.select(queries.load("_current_literals").bind(graph=self.graph))
        return next((row[0].value for row in rows if row[0] is not None), None)

    def literal_links(self, store: GraphStore) -> dict[int, str]:
        """The linked literal graphs by version."""
        rows = store.select(queries.load("_literal_links").bind(graph=self.graph))
        return {int(version.value): graph.value for version, graph in rows if version and graph}

    def link_literals(self, store: GraphStore, version: int, copy: LiteralCopy) -> None:
        """Link the literals of a described version, in one update."""
        iri = self.version_iri(version)
        update = queries.load("_link_literals").bind(
            graph=self.graph,
            version=iri,
            copy=f"{iri}-literals",
            literals=copy.graph,
            datatype=copy.datatype,
            rows=copy.rows,
            written=copy.written,
            farthest=copy.farthest,
        )
        store.update(update)

    def unlink_literals(self, store: GraphStore, version: int) -> None:
        """Remove the link from a version to its literals."""
        iri = self.version_iri(version)
        unlink = queries.load("_unlink_literals")
        store.update(unlink.bind(graph=self.graph, version=iri, copy=f"{iri}-literals"))


def _own(triples: Graph, version: str, run: str) -> set[str]:
    """What a description says something about and belongs to its version alone.

    Also what was left of it, unlinked, when a removal was cut short, has one of these names.
    """
    subjects = {str(subject) for subject in triples.subjects()}
    return {version, run} | {each for each in subjects if each.startswith(f"{version}-")}


def _is_once(time: str, found: list[str]) -> bool:
    """Whether a time is the only one that was found; stores write it in their own ways."""
    try:
        times = [datetime.fromisoformat(text) for text in found]
    except ValueError:
        return False
    return times == [datetime.fromisoformat(time)]


def _oxigraph_triples(graph: Graph) -> list[ox.Triple]:
    """The triples of a graph without blank nodes, validated.

    Raises:
        ConfigError: A store would refuse a term.
    """
    try:
        return [ox.Triple(_name(s), _name(p), _term(o)) for s, p, o in graph]
    except ValueError as error:
        raise ConfigError(f"invalid triples: {error}") from None


def _name(term: Node) -> ox.NamedNode:
    return ox.NamedNode(str(term))


def _term(term: Node) -> ox.NamedNode | ox.Literal:
    if isinstance(term, URIRef):
        return ox.NamedNode(str(term))
    datatype = term.datatype if isinstance(term, Literal) else None
    return ox.Literal(str(term), datatype=ox.NamedNode(str(datatype)) if datatype else None)
