"""The shapes: what is published conforms to them, and what is broken does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
import rdflib
from pyshacl import validate
from rdflib import PROV, RDF, SH, VOID, XSD, Graph, Literal, URIRef

from kgsync import KGSync
from kgsync.config import (
    ModelSettings,
    SplitSettings,
)
from kgsync.graph.stores import opened
from kgsync.publish.metadata.description import DCAT, KGE, MLS, SPDX
from kgsync.publish.metadata.graph import MetadataGraph
from tests.publish.described import (
    CHECKSUM,
    COPY,
    DATASET,
    EPOCHS,
    LITERALS,
    MRR,
    NAME,
    RUN,
    SHAPES,
    SOURCE,
    VECTORS,
    VERSION,
    VOCABULARY,
    complaints,
    evaluations,
    manifest_of,
    published,
    sync_of,
)
from tests.thinning import thinned
from tests.worlds import EX, fill, iri, quads, versions


def test_the_metadata_of_six_versions_conforms(metadata: Graph) -> None:
    assert complaints(metadata) == ""
    assert len(set(metadata.subjects(RDF.type, MLS.Run))) == 6
    assert not [term for triple in metadata for term in triple if isinstance(term, rdflib.BNode)]


def test_the_metadata_of_every_kind_of_version_conforms(tmp_path: Path) -> None:
    store = fill(ox.Store())
    random = np.random.default_rng(0)
    names = [iri(f"e{i}") for i in range(40)] + [iri(r) for r in ("next", "skip", "back")]
    kinds = ["entity"] * 40 + ["relation"] * 3
    rows = {"iri": names, "kind": kinds, "vector": random.normal(size=(43, 8)).tolist()}
    pq.write_table(pa.table(rows), tmp_path / "vectors.parquet")
    sync = sync_of(store, tmp_path / "state")
    sync.adopt(tmp_path / "vectors.parquet")
    sync.catch_up()
    sync.settings = replace(sync.settings, model=ModelSettings("rescal", dimension=4))
    sync.rebuild()
    graph = published(store)
    actions = [str(graph.value(URIRef(f"{NAME}#run{n}"), KGE.action)) for n in range(1, 6)]
    assert actions == ["adopted", "updated", "updated", "unchanged", "rebuilt"]
    assert complaints(graph) == ""


@pytest.mark.parametrize("graphs", [EX + "live", "default"])
def test_the_metadata_of_a_live_graph_conforms(tmp_path: Path, graphs: str) -> None:
    store = ox.Store()
    named = ox.NamedNode(graphs) if graphs != "default" else ox.DefaultGraph()
    world = versions()
    sync = sync_of(store, tmp_path / "state", graphs)
    for name in ("1", "2"):
        store.extend(
            ox.Quad(q.subject, q.predicate, q.object, named) for q in quads(name, world[name])
        )
        assert sync.step().changed
    graph = published(store)
    assert complaints(graph) == ""
    (source,) = graph.objects(URIRef(f"{NAME}#v2"), PROV.wasDerivedFrom)
    assert source == URIRef(f"{NAME}#v2-source")
    of = [URIRef(graphs)] if graphs != "default" else []
    assert list(graph.objects(source, PROV.specializationOf)) == of


def test_a_version_without_held_out_edges_conforms(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state")
    sync.settings = replace(sync.settings, split=SplitSettings(validation=0, test=0))
    assert [report.quality for report in sync.catch_up()] == [None, None]
    graph = published(store)
    assert complaints(graph) == ""
    assert "meanReciprocalRank" not in evaluations(graph, URIRef(f"{NAME}#run2"))


def test_a_version_of_an_older_state_conforms(six: tuple[KGSync, ox.Store], tmp_path: Path) -> None:
    sync, _ = six
    store = ox.Store()
    now = manifest_of(sync, 6)
    files = {name: now.files[name] for name in ("embeddings/vectors.parquet",)}
    old = replace(now, previous=None, settings={}, software="", files=files)
    described = MetadataGraph(NAME, sync.state.uuid)
    with opened(store) as target:
        described.stage(target, old, sync.state.version(6).path)
        described.flip(target, 6)
    graph = published(store)
    assert complaints(graph) == ""
    assert len(list(graph.objects(VERSION, DCAT.distribution))) == 1


def drop(graph: Graph, subject: Any, predicate: URIRef) -> None:
    assert (subject, predicate, None) in graph
    graph.remove((subject, predicate, None))


def put(graph: Graph, subject: Any, predicate: URIRef, value: URIRef | Literal) -> None:
    graph.set((subject, predicate, value))


def double(value: float) -> Literal:
    return Literal(value, datatype=XSD.double)


Fault = tuple[str, URIRef | None, Callable[[Graph], object]]
"""The constraint that must complain, of which property, and how to break it."""

BROKEN: dict[str, Fault] = {
    "two current versions": (
        "MaxCount",
        DCAT.hasCurrentVersion,
        lambda g: g.add((DATASET, DCAT.hasCurrentVersion, URIRef(f"{NAME}#v5"))),
    ),
    "no current version": (
        "MinCount",
        DCAT.hasCurrentVersion,
        lambda g: drop(g, DATASET, DCAT.hasCurrentVersion),
    ),
    "a current version that is not described": (
        "Node",
        DCAT.hasCurrentVersion,
        lambda g: put(g, DATASET, DCAT.hasCurrentVersion, URIRef(f"{NAME}#v9")),
    ),
    "a version without a source": (
        "MinCount",
        PROV.wasDerivedFrom,
        lambda g: drop(g, VERSION, PROV.wasDerivedFrom),
    ),
    "a version without a run": (
        "MinCount",
        PROV.wasGeneratedBy,
        lambda g: drop(g, VERSION, PROV.wasGeneratedBy),
    ),
    "a version revised from another than the previous one": (
        "Equals",
        DCAT.previousVersion,
        lambda g: put(g, VERSION, PROV.wasRevisionOf, URIRef(f"{NAME}#v2")),
    ),
    "a version whose name is no number": (
        "Pattern",
        DCAT.version,
        lambda g: put(g, VERSION, DCAT.version, Literal("six")),
    ),
    "a negative count": (
        "Node",
        KGE.addedTriples,
        lambda g: put(g, VERSION, KGE.addedTriples, Literal(-1)),
    ),
    "a count that is text": (
        "Node",
        KGE.entities,
        lambda g: put(g, VERSION, KGE.entities, Literal("many")),
    ),
    "a metric of the version itself": (
        "Closed",
        KGE.meanReciprocalRank,
        lambda g: put(g, VERSION, KGE.meanReciprocalRank, double(0.5)),
    ),
    "a graph version of unknown size": (
        "MinCount",
        VOID.triples,
        lambda g: drop(g, SOURCE, VOID.triples),
    ),
    "an endpoint with a password": (
        "Pattern",
        VOID.sparqlEndpoint,
        lambda g: put(g, SOURCE, VOID.sparqlEndpoint, URIRef("http://me:secret@example.org/")),
    ),
    "a run without an algorithm": (
        "MinCount",
        MLS.realizes,
        lambda g: drop(g, RUN, MLS.realizes),
    ),
    "a run of an unknown algorithm": (
        "Class",
        MLS.realizes,
        lambda g: put(g, RUN, MLS.realizes, KGE.oracle),
    ),
    "a run that ended before it started": (
        "LessThanOrEquals",
        PROV.startedAtTime,
        lambda g: put(
            g, RUN, PROV.endedAtTime, Literal("2001-01-01T00:00:00+00:00", datatype=XSD.dateTime)
        ),
    ),
    "a run of an unknown action": (
        "In",
        KGE.action,
        lambda g: put(g, RUN, KGE.action, Literal("waiting")),
    ),
    "a run without its dimension": (
        "QualifiedMinCount",
        MLS.hasInput,
        lambda g: g.remove((RUN, MLS.hasInput, URIRef(f"{VERSION}-model.dimension"))),
    ),
    "a run with two reciprocal ranks": (
        "QualifiedMaxCount",
        MLS.hasOutput,
        lambda g: put(g, URIRef(f"{VERSION}-meanRank"), MLS.specifiedBy, KGE.meanReciprocalRank),
    ),
    "an unknown hyper-parameter": (
        "Class",
        MLS.specifiedBy,
        lambda g: put(g, EPOCHS, MLS.specifiedBy, KGE["training.magic"]),
    ),
    "a hyper-parameter without a value": (
        "MinCount",
        MLS.hasValue,
        lambda g: drop(g, EPOCHS, MLS.hasValue),
    ),
    "a hyper-parameter that is a date": (
        "Or",
        MLS.hasValue,
        lambda g: put(g, EPOCHS, MLS.hasValue, Literal("2001-01-01", datatype=XSD.date)),
    ),
    "a metric of no measure": (
        "MinCount",
        MLS.specifiedBy,
        lambda g: drop(g, MRR, MLS.specifiedBy),
    ),
    "a reciprocal rank above one": (
        "Or",
        None,
        lambda g: put(g, MRR, MLS.hasValue, double(1.5)),
    ),
    "a reciprocal rank of a group above one": (
        "Or",
        None,
        lambda g: put(g, URIRef(f"{VERSION}-unseenMeanReciprocalRank"), MLS.hasValue, double(1.5)),
    ),
    "a deleted triple that is none": (
        "Class",
        KGE.stillRanked,
        lambda g: g.add((RUN, KGE.stillRanked, MRR)),
    ),
    "a deleted triple without a rank": (
        "MinCount",
        KGE.headRank,
        lambda g: g.add((URIRef(f"{VERSION}-still1"), RDF.type, KGE.DeletedTriple)),
    ),
    "a negative metric": (
        "MinInclusive",
        MLS.hasValue,
        lambda g: put(g, MRR, MLS.hasValue, double(-0.5)),
    ),
    "a metric that is no double": (
        "Datatype",
        MLS.hasValue,
        lambda g: put(g, MRR, MLS.hasValue, Literal(1)),
    ),
    "a metric of no run": (
        "MinCount",
        None,
        lambda g: g.remove((RUN, MLS.hasOutput, MRR)),
    ),
    "a file of negative size": (
        "MinInclusive",
        DCAT.byteSize,
        lambda g: put(g, VECTORS, DCAT.byteSize, Literal(-5)),
    ),
    "a file without a checksum": (
        "MinCount",
        SPDX.checksum,
        lambda g: drop(g, VECTORS, SPDX.checksum),
    ),
    "a checksum that is too short": (
        "Pattern",
        SPDX.checksumValue,
        lambda g: put(g, CHECKSUM, SPDX.checksumValue, Literal("ab", datatype=XSD.hexBinary)),
    ),
    "a distribution that is both a file and literals": (
        "Xone",
        None,
        lambda g: put(g, VECTORS, KGE.graph, URIRef(EX + "vectors")),
    ),
    "literals without a datatype": (
        "MinCount",
        KGE.datatype,
        lambda g: drop(g, LITERALS, KGE.datatype),
    ),
    "a graph of two owners": (
        "MaxCount",
        KGE.owner,
        lambda g: g.add((URIRef(NAME), KGE.owner, Literal("00000000-0000-4000-8000-000000000000"))),
    ),
    "a graph of nobody": (
        "MinCount",
        KGE.owner,
        lambda g: drop(g, URIRef(NAME), KGE.owner),
    ),
}


@pytest.fixture(scope="module")
def two(six: tuple[KGSync, ox.Store]) -> Graph:
    """The last two versions alone, which is quicker to validate."""
    sync, _ = six
    store = ox.Store()
    metadata = MetadataGraph(NAME, sync.state.uuid)
    with opened(store) as target:
        for folder in (sync.state.version(5), sync.state.version(6)):
            metadata.stage(target, folder.manifest, folder.path)
        metadata.link_literals(target, 6, COPY)
        metadata.flip(target, 6)
    graph = published(store)
    assert complaints(graph) == ""
    return graph


@pytest.mark.parametrize("fault", thinned(BROKEN, set(list(BROKEN)[::3]).__contains__))
def test_the_shapes_refuse(fault: str, two: Graph) -> None:
    constraint, path, spoil = BROKEN[fault]
    broken = two + Graph()
    spoil(broken)
    conforms, report, _ = validate(broken + VOCABULARY, shacl_graph=SHAPES)
    assert not conforms
    assert isinstance(report, Graph)
    raised = report.subjects(SH.sourceConstraintComponent, SH[f"{constraint}ConstraintComponent"])
    found = {report.value(result, SH.resultPath) for result in raised}
    if path is None:
        assert found
    else:
        assert path in found
