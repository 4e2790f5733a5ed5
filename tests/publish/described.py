"""Published metadata graphs, their vocabulary and their shapes, for the tests of this folder."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from pyshacl import validate
from rdflib import Graph, URIRef

from kgsync import KGSync, Settings
from kgsync.config import PublishSettings, SourceSettings
from kgsync.publish.metadata.description import KGE, MLS
from kgsync.publish.metadata.graph import LiteralCopy
from kgsync.state.manifest import Manifest
from tests.worlds import EX, GRAPHS, quick_settings

NAME = "urn:kgsync:state"
VERSION = URIRef(f"{NAME}#v6")
RUN = URIRef(f"{NAME}#run6")
COPY = LiteralCopy(EX + "vectors", "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON", 43, 40, 0.25)
VECTORS = URIRef(f"{VERSION}-vectors")
MRR = URIRef(f"{VERSION}-meanReciprocalRank")
EPOCHS = URIRef(f"{VERSION}-training.epochs")
DATASET = URIRef(f"{NAME}#embeddings")
CHECKSUM = URIRef(f"{VECTORS}-checksum")
LITERALS = URIRef(f"{VERSION}-literals")
SOURCE = URIRef(GRAPHS.format(version="13"))


def shipped(name: str) -> Graph:
    text = (resources.files("kgsync.publish.metadata") / name).read_text(encoding="utf-8")
    return Graph().parse(data=text, format="turtle")


VOCABULARY, SHAPES = shipped("vocabulary.ttl"), shipped("shapes.ttl")


def complaints(graph: Graph) -> str:
    """What the shapes say against a graph; nothing if it conforms."""
    conforms, _, text = validate(graph + VOCABULARY, shacl_graph=SHAPES)
    return "" if conforms else str(text)


def settings_of(**publish: Any) -> Settings:
    return replace(
        quick_settings(),
        source=SourceSettings(max_removed=1.0, quiet_period="0s"),
        publish=PublishSettings(**publish),
    )


def sync_of(store: Any, state: Path, graphs: str | None = GRAPHS, **publish: Any) -> KGSync:
    return KGSync(store, graphs, state=state, settings=settings_of(**publish))


def published(store: ox.Store, name: str = NAME) -> Graph:
    """A named graph of an embedded store."""
    found = store.quads_for_pattern(None, None, None, ox.NamedNode(name))
    text = ox.serialize((quad.triple for quad in found), format=ox.RdfFormat.N_TRIPLES)
    assert text is not None
    return Graph().parse(data=text, format="nt")


def manifest_of(sync: KGSync, version: int) -> Manifest:
    return sync.state.version(version).manifest


def evaluations(graph: Graph, run: URIRef, relation: URIRef = MLS.hasOutput) -> dict[str, float]:
    """Measure -> value."""
    found = {}
    for node in graph.objects(run, relation):
        (measure,), (value,) = (
            graph.objects(node, MLS.specifiedBy),
            graph.objects(node, MLS.hasValue),
        )
        assert str(measure) not in found
        found[str(measure).removeprefix(str(KGE))] = float(str(value))
    return found
