"""The metadata graph: every embedding version described in the store, next to the data.

The graph is written in three moves that may each be repeated: `stage` describes a version, the
state's commit makes it real, `flip` makes it the current one for readers of the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdflib import DCTERMS, PROV, RDF, XSD, Graph, Literal, Namespace, URIRef

from kgsync import queries
from kgsync.errors import PermanentStoreError
from kgsync.graph.port import OUTPUT_GRAPH, GraphStore
from kgsync.publish.manifest import Manifest
from kgsync.publish.sidecar import FILES

__all__ = ["KGE", "MetadataGraph"]

# rdflib's own DCAT is closed at version 2 and lacks the versioning terms.
DCAT = Namespace("http://www.w3.org/ns/dcat#")
KGE = Namespace("https://w3id.org/kgsync/ns#")
SPDX = Namespace("http://spdx.org/rdf/terms#")

_METRICS = {
    "mrr": KGE.meanReciprocalRank,
    "mr": KGE.meanRank,
    "hits@1": KGE.hitsAt1,
    "hits@3": KGE.hitsAt3,
    "hits@10": KGE.hitsAt10,
    "hits@100": KGE.hitsAt100,
}


@dataclass(frozen=True)
class MetadataGraph:
    """One sync's metadata graph in one store."""

    graph: str
    owner: str
    """UUID of the state that writes here."""

    @property
    def dataset(self) -> str:
        """The data set whose versions these are."""
        return f"{self.graph}#embeddings"

    def version_iri(self, version: int) -> str:
        """One embedding version."""
        return f"{self.graph}#v{version}"

    def run_iri(self, version: int) -> str:
        """The run that made an embedding version."""
        return f"{self.graph}#run{version}"

    def head(self, store: GraphStore) -> int | None:
        """The version the store calls current, or None if it has none of ours.

        Raises:
            PermanentStoreError: The graph belongs to someone else.
        """
        rows = store.select(queries.load("_head").bind(graph=self.graph))
        if not rows:
            if store.select(queries.load("_is_empty").bind(graph=self.graph)):
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

    def stage(self, store: GraphStore, manifest: Manifest, folder: Path) -> None:
        """Describe a version whose files are in a folder; it is not current yet."""
        self.head(store)
        version, run = (iri(manifest.version) for iri in (self.version_iri, self.run_iri))
        forget = queries.load("_forget_version")
        store.update(forget.bind(graph=self.graph, version=version, run=run))
        store.insert(
            self.graph,
            self._describe(manifest, folder).serialize(format="nt", encoding="utf-8").decode(),
        )

    def flip(self, store: GraphStore, version: int) -> None:
        """Make a staged version the current one."""
        store.update(
            queries.load("_move_head").bind(
                graph=self.graph, dataset=self.dataset, version=self.version_iri(version)
            )
        )

    def forget_files(self, store: GraphStore, versions: Iterable[int]) -> None:
        """Stop naming the files of versions whose files are gone."""
        iris = [self.version_iri(version) for version in versions]
        if iris:
            store.update(queries.load("_forget_files").bind(graph=self.graph, versions=iris))

    def _describe(self, manifest: Manifest, folder: Path) -> Graph:
        graph = Graph()
        dataset = URIRef(self.dataset)
        version = URIRef(self.version_iri(manifest.version))
        graph.add((URIRef(self.graph), RDF.type, URIRef(OUTPUT_GRAPH)))
        graph.add((URIRef(self.graph), KGE.owner, Literal(self.owner)))
        graph.add((dataset, RDF.type, DCAT.Dataset))
        graph.add((dataset, DCAT.hasVersion, version))
        graph.add((version, RDF.type, DCAT.Dataset))
        graph.add((version, RDF.type, PROV.Entity))
        graph.add((version, DCAT.isVersionOf, dataset))
        graph.add((version, DCAT.version, Literal(str(manifest.version))))
        graph.add((version, DCTERMS.issued, Literal(manifest.created, datatype=XSD.dateTime)))
        graph.add((version, KGE.model, Literal(manifest.model["name"])))
        graph.add((version, KGE.dimension, Literal(manifest.model["dimension"])))
        if manifest.previous is not None:
            previous = URIRef(self.version_iri(manifest.previous))
            graph.add((version, DCAT.previousVersion, previous))
            graph.add((version, PROV.wasRevisionOf, previous))
        _add_source(graph, version, manifest)
        _add_report(graph, version, manifest.report)
        self._add_run(graph, version, manifest)
        for name, media_type in FILES.items():
            recorded, path = manifest.files[f"embeddings/{name}"], folder / "embeddings" / name
            if path.exists():  # else retention has removed it
                _add_file(graph, version, path, recorded, media_type)
        return graph

    def _add_run(self, graph: Graph, version: URIRef, manifest: Manifest) -> None:
        run = URIRef(self.run_iri(manifest.version))
        graph.add((version, PROV.wasGeneratedBy, run))
        graph.add((run, RDF.type, PROV.Activity))
        graph.add((run, PROV.endedAtTime, Literal(manifest.created, datatype=XSD.dateTime)))
        graph.add((run, KGE.action, Literal(manifest.report["action"])))
        graph.add((run, KGE.epochs, Literal(manifest.report["epochs"])))
        for name, count in manifest.report["cost"].items():
            graph.add((run, KGE[_camel(name)], Literal(count)))


def _add_source(graph: Graph, version: URIRef, manifest: Manifest) -> None:
    """What the version was made from: a graph IRI, or a moment of a live graph."""
    name, source_graph = manifest.graph_version["name"], manifest.graph_version["graph"]
    if name == source_graph:
        source = URIRef(name)
    else:
        source = URIRef(f"{version}-source")
        graph.add((source, PROV.generatedAtTime, Literal(name, datatype=XSD.dateTime)))
        if source_graph is not None:
            graph.add((source, PROV.specializationOf, URIRef(source_graph)))
    graph.add((version, PROV.wasDerivedFrom, source))
    graph.add((version, KGE.sourceTriples, Literal(manifest.triples)))


def _add_report(graph: Graph, version: URIRef, report: dict[str, Any]) -> None:
    graph.add((version, KGE.entities, Literal(report["entities"])))
    graph.add((version, KGE.relations, Literal(report["relations"])))
    graph.add((version, KGE.edges, Literal(sum(report["triples"].values()))))
    for metric, property_ in _METRICS.items():
        if report["quality"] is not None:
            value = Literal(report["quality"][metric], datatype=XSD.double)
            graph.add((version, property_, value))
    for name, count in (report["change"] or {}).items():
        total = sum(count) if isinstance(count, list | tuple) else count
        graph.add((version, KGE[_camel(name)], Literal(total)))


def _add_file(
    graph: Graph, version: URIRef, path: Path, recorded: dict[str, Any], media_type: str
) -> None:
    stem = path.name.partition(".")[0]
    file, checksum = URIRef(f"{version}-{stem}"), URIRef(f"{version}-{stem}-checksum")
    graph.add((version, DCAT.distribution, file))
    graph.add((file, RDF.type, DCAT.Distribution))
    graph.add((file, DCAT.downloadURL, URIRef(path.resolve().as_uri())))
    graph.add((file, DCAT.mediaType, Literal(media_type)))
    graph.add((file, DCAT.byteSize, Literal(recorded["bytes"], datatype=XSD.nonNegativeInteger)))
    graph.add((file, SPDX.checksum, checksum))
    graph.add((checksum, SPDX.algorithm, SPDX.checksumAlgorithm_sha256))
    graph.add((checksum, SPDX.checksumValue, Literal(recorded["sha256"], datatype=XSD.hexBinary)))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
