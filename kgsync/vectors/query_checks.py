"""Checks that the store holds what a query is about; otherwise an empty result would mislead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kgsync import queries
from kgsync.errors import ConfigError
from kgsync.graph.port import GraphReader
from kgsync.queries import Filled, Query, is_open

__all__ = ["check_graphs", "check_literals", "check_metadata"]

_LITERALS = re.compile(r"\bkge:(?:embedding|relationEmbedding)\b")
_VERSIONS = {"at", "current", "previous"}


def check_graphs(
    store: GraphReader,
    query: Query,
    given: Mapping[str, object],
    known: Mapping[str, Filled],
    source: Callable[[], str],
) -> None:
    """Check that the store holds the graph of the version, or the one given instead.

    Args:
        store: Where the query is about to be run.
        query: The query.
        given: Values of its parameters.
        known: What the sync fills in.
        source: Gives the label of the store that versions are read from.

    Raises:
        ConfigError: It does not.
    """
    for name, graph in _meant(query, given, known, {"source"}).items():
        if query.parameters[name].kind == "iri" and not _holds(store, graph):
            place = source()
            elsewhere = (
                f"versions are read from {place}: publish there if it can be written, or "
                if place not in (store.label, "in memory")
                else ""
            )
            raise ConfigError(
                f"query {query.name}: {store.label}, where the metadata is, holds no graph "
                f"<{graph}>, and without it the answer would be wrong; {elsewhere}give {name}=... "
                "for a graph that it holds"
            )


def check_metadata(
    store: GraphReader,
    query: Query,
    given: Mapping[str, object],
    known: Mapping[str, Filled],
) -> None:
    """Check that there is metadata, if a query is about it.

    Raises:
        ConfigError: There is none.
    """
    for metadata in _meant(query, given, known, {"metadata"}).values():
        if not _holds(store, metadata):
            raise ConfigError(
                f"query {query.name}: {store.label} holds no metadata in <{metadata}>; check that "
                "publish.metadata is on, and run `kgsync step`, which publishes what is missing"
            )


def check_literals(
    store: GraphReader,
    query: Query,
    given: Mapping[str, object],
    known: Mapping[str, Filled],
) -> None:
    """Check that the versions have vectors as literals, if a query is about those.

    Raises:
        ConfigError: One has none.
    """
    graphs = [name for name, p in query.parameters.items() if p.known_as == "metadata"]
    if not graphs or not _LITERALS.search(query.text) or given.keys() & set(graphs):
        return
    links = store.select(queries.load("_literal_links").bind(graph=str(known["metadata"])))
    there = {version.value for version, _ in links if version is not None}
    meant = set(_meant(query, given, known, _VERSIONS).values()) or {str(known["current"])}
    missing = sorted(meant - there)
    if missing:
        raise ConfigError(
            f"query {query.name}: {store.label} has no vectors of version {missing[0]} as "
            "literals (publish.literals, publish.keep); nearest_neighbors_sidecar and `kgsync "
            "neighbors` take them from the files"
        )


def _meant(
    query: Query,
    given: Mapping[str, object],
    known: Mapping[str, Filled],
    names: set[str],
) -> dict[str, str]:
    """The values of the parameters that a sync fills in with one of these, unless left open."""
    found = {}
    for name, parameter in query.parameters.items():
        if parameter.known_as not in names:
            continue
        value = given.get(name)
        if value is None:
            value = known.get(parameter.known_as)
        if value is not None and not is_open(value):
            found[name] = str(parameter.read(value))
    return found


def _holds(store: GraphReader, graph: str) -> bool:
    return bool(store.select(queries.load("_has_triples").bind(graph=graph)))
