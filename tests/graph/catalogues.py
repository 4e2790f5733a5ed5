"""Stores with versions and a catalogue that describes them."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox
from rdflib import Dataset, URIRef

from kgsync.graph.port import OUTPUT_GRAPH, GraphStore
from kgsync.graph.stores import open_store
from kgsync.graph.versions import VersionList

KG = "http://example.org/kg/"
TEMPLATE = KG + "{version}"
CATALOG = "http://example.org/catalog"
STORES = ["oxigraph", "rdflib", "rdflib union"]

_PREFIXES = """
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix kg: <http://example.org/kg/> .
"""


def store_with(
    kind: str,
    names: Iterable[str],
    catalogue: str = "",
    *,
    catalog: str | None = None,
    output: Iterable[str] = (),
) -> GraphStore:
    """A store of one kind.

    Args:
        kind: One of `STORES`.
        names: Its graphs, each of one edge; a name without a scheme is below `KG`.
        catalogue: Turtle that describes them, `kg:` prefix declared.
        catalog: The named graph of the catalogue, or None for the default graph.
        output: Further graphs, which some kgsync wrote.
    """
    edge = "<http://example.org/a> <http://example.org/p> <http://example.org/b> .\n"
    texts = {full(name): edge for name in names}
    for name in map(full, output):
        texts[name] = f"<{name}> a <{OUTPUT_GRAPH}> ; <http://example.org/p> <{KG}x> .\n"
    if kind == "oxigraph":
        store = ox.Store()
        for name, text in texts.items():
            store.load(text.encode(), format=ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(name))
        graph = ox.NamedNode(catalog) if catalog else ox.DefaultGraph()
        turtle = (_PREFIXES + catalogue).encode()
        store.load(turtle, format=ox.RdfFormat.TURTLE, to_graph=graph)
        return open_store(store)
    dataset = Dataset(default_union=kind == "rdflib union")
    for name, text in texts.items():
        dataset.graph(URIRef(name)).parse(data=text, format="turtle")
    where = dataset.graph(URIRef(catalog)) if catalog else dataset.default_graph
    where.parse(data=_PREFIXES + catalogue, format="turtle")
    return open_store(dataset)


def full(name: str) -> str:
    """The IRI of a version."""
    return name if ":" in name else KG + name


def short(iris: Iterable[str]) -> list[str]:
    """The names of IRIs below `KG`."""
    return [iri.removeprefix(KG) for iri in iris]


def names_of(versions: VersionList) -> list[str]:
    """The short names of the versions, oldest first."""
    return short(version.name for version in versions.versions)
