"""What the metadata graph says about one embedding version, as RDF.

Every node has an IRI: `#v7` is the version, `#run7` the run that made it, and all nodes that belong
only to them begin with `#v7-`, so that they can be found and replaced. `vocabulary.ttl` explains
our own terms, and `shapes.ttl` defines the structure of a metadata graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from rdflib import DCTERMS, PROV, RDF, RDFS, VOID, XSD, Graph, Literal, Namespace, URIRef

from kgsync.common import rdf_terms
from kgsync.graph.port import OUTPUT_GRAPH
from kgsync.publish.metadata.measures import Measure, measures, quality_measures
from kgsync.state.directory import folder_name
from kgsync.state.manifest import Manifest
from kgsync.state.sidecar import FILES, FOLDER

__all__ = ["KGE", "dataset_iri", "describe", "run_iri", "source_iri", "version_iri"]

# rdflib's own DCAT is closed at version 2 and lacks the versioning terms.
DCAT = Namespace("http://www.w3.org/ns/dcat#")
KGE = Namespace(rdf_terms.KGE)
MEDIA_TYPES = Namespace("https://www.iana.org/assignments/media-types/")
MLS = Namespace("http://www.w3.org/ns/mls#")
SPDX = Namespace("http://spdx.org/rdf/terms#")

_COUNTS = {
    "added_triples": KGE.addedTriples,
    "deleted_triples": KGE.deletedTriples,
    "added_entities": KGE.addedEntities,
    "deleted_entities": KGE.deletedEntities,
    "added_relations": KGE.addedRelations,
    "deleted_relations": KGE.deletedRelations,
}


def dataset_iri(graph: str) -> str:
    """The data set whose versions a metadata graph describes."""
    return f"{graph}#embeddings"


def version_iri(graph: str, version: int) -> str:
    """One embedding version."""
    return f"{graph}#v{version}"


def run_iri(graph: str, version: int) -> str:
    """The run that made an embedding version."""
    return f"{graph}#run{version}"


def source_iri(graph: str, manifest: Manifest) -> str:
    """What a version was made from: a graph, or a moment of a live graph."""
    name: str = manifest.graph_version["name"]
    live = name != manifest.graph_version["graph"]
    return f"{version_iri(graph, manifest.version)}-source" if live else name


def describe(
    graph: str,
    owner: str,
    manifest: Manifest,
    folder: Path,
    *,
    base_url: str | None = None,
    endpoint: str | None = None,
) -> Graph:
    """Describe one embedding version.

    Args:
        graph: IRI of the metadata graph.
        owner: UUID of the state that writes it.
        manifest: What is recorded of the version.
        folder: Its folder in the state; files that are gone are not named.
        base_url: URL of the state directory; without it, files have file: URLs.
        endpoint: Address of the endpoint that the graph was read from, if it was one.
    """
    about = _About(graph, manifest)
    about.add(graph, RDF.type, URIRef(OUTPUT_GRAPH))
    about.add(graph, KGE.owner, Literal(owner))
    about.version_itself()
    about.source(endpoint)
    about.run()
    about.files(folder, base_url)
    return about.triples


class _About:
    """Collects the triples about one version, one method per concern."""

    def __init__(self, graph: str, manifest: Manifest) -> None:
        self.triples = Graph()
        self._graph = graph
        self._manifest = manifest
        self._version = version_iri(graph, manifest.version)

    def add(self, subject: str, predicate: URIRef, value: URIRef | Literal) -> None:
        self.triples.add((URIRef(subject), predicate, value))

    def version_itself(self) -> None:
        manifest, version, report = self._manifest, self._version, self._manifest.report
        dataset = dataset_iri(self._graph)
        self.add(dataset, RDF.type, DCAT.Dataset)
        self.add(dataset, DCAT.hasVersion, URIRef(version))
        self.add(version, RDF.type, DCAT.Dataset)
        self.add(version, RDF.type, PROV.Entity)
        self.add(version, DCAT.isVersionOf, URIRef(dataset))
        self.add(version, DCAT.version, Literal(str(manifest.version)))
        self.add(version, DCTERMS.issued, Literal(manifest.created, datatype=XSD.dateTime))
        if manifest.previous is not None:
            previous = URIRef(version_iri(self._graph, manifest.previous))
            self.add(version, DCAT.previousVersion, previous)
            self.add(version, PROV.wasRevisionOf, previous)
        self.add(version, KGE.entities, Literal(report["entities"]))
        self.add(version, KGE.relations, Literal(report["relations"]))
        self.add(version, KGE.edges, Literal(sum(report["triples"].values())))
        for name, count in (report["change"] or {}).items():
            total = sum(count) if isinstance(count, list | tuple) else count
            self.add(version, _COUNTS[name], Literal(total))

    def source(self, endpoint: str | None) -> None:
        recorded, source = self._manifest.graph_version, source_iri(self._graph, self._manifest)
        self.add(self._version, PROV.wasDerivedFrom, URIRef(source))
        self.add(source, RDF.type, VOID.Dataset)
        self.add(source, RDF.type, PROV.Entity)
        self.add(source, VOID.triples, Literal(self._manifest.triples))
        if endpoint is not None:
            self.add(source, VOID.sparqlEndpoint, URIRef(_without_secrets(endpoint)))
        if source != recorded["name"]:
            moment = Literal(recorded["name"], datatype=XSD.dateTime)
            self.add(source, PROV.generatedAtTime, moment)
            if recorded["graph"] is not None:
                self.add(source, PROV.specializationOf, URIRef(recorded["graph"]))

    def run(self) -> None:
        manifest, report = self._manifest, self._manifest.report
        run, algorithm = run_iri(self._graph, manifest.version), KGE[manifest.model["name"]]
        ended = datetime.fromisoformat(manifest.created)
        started = ended - timedelta(seconds=sum(report["seconds"].values()))
        self.add(self._version, PROV.wasGeneratedBy, URIRef(run))
        self.add(run, RDF.type, PROV.Activity)
        self.add(run, RDF.type, MLS.Run)
        for moment, when in ((PROV.startedAtTime, started), (PROV.endedAtTime, ended)):
            text = when.isoformat(timespec="seconds")
            self.add(run, moment, Literal(text, datatype=XSD.dateTime))
        self.add(run, KGE.action, Literal(report["action"]))
        if report.get("update"):
            self.add(run, KGE.updateStrategy, Literal(report["update"]["strategy"]))
        if report.get("alignment"):
            self.add(run, KGE.alignment, Literal(report["alignment"]["method"]))
        self.add(run, MLS.realizes, algorithm)
        software = f"{self._version}-implementation"
        self.add(run, MLS.executes, URIRef(software))
        self.add(software, RDF.type, MLS.Implementation)
        self.add(software, RDFS.label, Literal("kgsync"))
        self.add(software, MLS.implements, algorithm)
        if manifest.software:
            self.add(software, DCAT.version, Literal(manifest.software))
        self._settings(run)
        self._evaluations(run, MLS.hasOutput, "", measures(report))
        before = quality_measures(report.get("quality_before"))
        self._evaluations(run, KGE.evaluationBefore, "before-", before)
        self._still_ranked(run)

    def _settings(self, run: str) -> None:
        # Manifests once recorded the model alone.
        sections = {"model": self._manifest.model, **self._manifest.settings}
        for section, chosen in sections.items():
            for name, value in chosen.items():
                if value is None or value == []:
                    continue
                setting = f"{self._version}-{section}.{name}"
                self.add(run, MLS.hasInput, URIRef(setting))
                self.add(setting, RDF.type, MLS.HyperParameterSetting)
                self.add(setting, MLS.specifiedBy, KGE[f"{section}.{name}"])
                self.add(setting, MLS.hasValue, _value(value))

    def _evaluations(
        self, run: str, relation: URIRef, prefix: str, found: Iterable[Measure]
    ) -> None:
        for measure, value in found:
            evaluation = f"{self._version}-{prefix}{measure}"
            self.add(run, relation, URIRef(evaluation))
            self.add(evaluation, RDF.type, MLS.ModelEvaluation)
            self.add(evaluation, MLS.specifiedBy, KGE[measure])
            self.add(evaluation, MLS.hasValue, Literal(float(value), datatype=XSD.double))

    def _still_ranked(self, run: str) -> None:
        """The deleted triples that still rank high, by the text of their IRIs.

        What a store refuses as an IRI must not keep it from being told of the version.
        """
        found = (self._manifest.report.get("learned") or {}).get("still_ranked", ())
        for number, triple in enumerate(found, 1):
            node = f"{self._version}-still{number}"
            self.add(run, KGE.stillRanked, URIRef(node))
            self.add(node, RDF.type, KGE.DeletedTriple)
            for name in ("head", "relation", "tail"):
                self.add(node, KGE[name], Literal(triple[name]))
            for name, value in (
                ("headRank", triple["head_rank"]),
                ("tailRank", triple["tail_rank"]),
            ):
                self.add(node, KGE[name], Literal(float(value), datatype=XSD.double))

    def files(self, folder: Path, base_url: str | None) -> None:
        for name, media_type in FILES.items():
            recorded = self._manifest.files.get(f"{FOLDER}/{name}")
            path = folder / FOLDER / name
            if recorded is None or not path.exists():
                continue  # a version from before there was such a file, or without files by now
            inside = f"{folder_name(self._manifest.version)}/{FOLDER}/{quote(name)}"
            served = f"{base_url.rstrip('/')}/{inside}" if base_url else path.resolve().as_uri()
            size = Literal(recorded["bytes"], datatype=XSD.nonNegativeInteger)
            value = Literal(recorded["sha256"], datatype=XSD.hexBinary)
            file = self._distribution(name.partition(".")[0])
            checksum = f"{file}-checksum"
            self.add(file, DCTERMS.title, Literal(name))
            self.add(file, DCAT.downloadURL, URIRef(served))
            self.add(file, DCAT.mediaType, MEDIA_TYPES[media_type])
            self.add(file, DCAT.byteSize, size)
            self.add(file, SPDX.checksum, URIRef(checksum))
            self.add(checksum, RDF.type, SPDX.Checksum)
            self.add(checksum, SPDX.algorithm, SPDX.checksumAlgorithm_sha256)
            self.add(checksum, SPDX.checksumValue, value)

    def _distribution(self, name: str) -> str:
        node = f"{self._version}-{name}"
        self.add(self._version, DCAT.distribution, URIRef(node))
        self.add(node, RDF.type, DCAT.Distribution)
        return node


def _value(value: Any) -> Literal:
    """A setting as a literal; a list as one text."""
    if isinstance(value, float):
        return Literal(value, datatype=XSD.double)
    if isinstance(value, list | tuple):
        return Literal(" ".join(map(str, value)))
    return Literal(value)


def _without_secrets(url: str) -> str:
    """A URL without user, password and parameters, which may be secret."""
    parts = urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
    return urlunsplit(bare)
