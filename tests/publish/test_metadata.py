"""The metadata graph: what it says of a version, and how it is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import DCTERMS, PROV, VOID, Graph, Literal, URIRef

import kgsync
from kgsync import KGSync, queries
from kgsync.config import (
    EndpointSettings,
    StateSettings,
)
from kgsync.graph.port import GraphStore
from kgsync.graph.stores import opened
from kgsync.publish.metadata.description import DCAT, KGE, MLS
from kgsync.publish.metadata.graph import LiteralCopy, MetadataGraph
from tests.adapters.kinds import endpoint_of
from tests.publish.described import (
    COPY,
    NAME,
    RUN,
    SOURCE,
    VECTORS,
    VERSION,
    complaints,
    evaluations,
    manifest_of,
    published,
    sync_of,
)
from tests.servers.server import Server
from tests.worlds import EX, fill, iri


def test_a_run_tells_all_hyper_parameters_with_their_types(
    six: tuple[KGSync, ox.Store], metadata: Graph
) -> None:
    sync, _ = six
    said = {}
    for node in metadata.objects(RUN, MLS.hasInput):
        name = str(metadata.value(node, MLS.specifiedBy)).removeprefix(str(KGE))
        value = metadata.value(node, MLS.hasValue)
        assert isinstance(value, Literal)
        said[name] = value.toPython()
    sections = sync.settings.hyper_parameters()
    wanted = {f"{s}.{n}": value for s, chosen in sections.items() for n, value in chosen.items()}
    assert said == {n: v for n, v in wanted.items() if v is not None and v != []}
    assert {type(value) for value in said.values()} == {bool, int, float, str}
    assert metadata.value(RUN, MLS.realizes) == KGE.transe
    software = metadata.value(RUN, MLS.executes)
    assert str(metadata.value(software, DCAT.version)) == kgsync.__version__


def test_a_list_is_one_text(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state")
    excluded = (iri("skip"), iri("back"))
    sync.settings = replace(sync.settings, filter=replace(sync.settings.filter, exclude=excluded))
    sync.step()
    graph = published(store)
    node = URIRef(f"{NAME}#v1-filter.exclude")
    assert str(graph.value(node, MLS.hasValue)) == " ".join(excluded)


def test_a_run_tells_all_metrics_of_its_report(
    six: tuple[KGSync, ox.Store], metadata: Graph
) -> None:
    report = manifest_of(six[0], 6).report
    said = evaluations(metadata, RUN)
    quality = report["quality"]
    for measure, name in (
        ("meanRank", "mr"),
        ("meanReciprocalRank", "mrr"),
        ("meanReciprocalRankError", "mrr_error"),
        ("hitsAt1", "hits@1"),
        ("hitsAt100", "hits@100"),
        ("testTriples", "triples"),
        ("testTriplesAvailable", "sampled_from"),
    ):
        assert said[measure] == pytest.approx(quality[name])
    assert said["entityMeanChange"] == pytest.approx(report["stability"]["entity"]["nmc"])
    assert "entityMeanChangeError" not in said  # all of them were measured
    assert said["epochs"] == report["epochs"]
    assert said["bestEpoch"] == report["best_epoch"]
    assert said["peakMemory"] == pytest.approx(report["peak_memory_mb"])
    assert said["scoreEvaluations"] == report["cost"]["score_evaluations"]
    assert said["gradientSteps"] == report["cost"]["gradient_steps"]
    assert said["scoresPerSecond"] == pytest.approx(report["scores_per_second"])
    phases = sum(value for name, value in said.items() if name.endswith("Seconds"))
    assert said["seconds"] == pytest.approx(sum(report["seconds"].values()))
    assert phases == pytest.approx(said["seconds"])  # no phase is without a measure
    before = evaluations(metadata, RUN, KGE.evaluationBefore)
    assert before["meanReciprocalRank"] == pytest.approx(report["quality_before"]["mrr"])
    assert "seconds" not in before


def test_a_run_tells_what_was_learned_and_what_consumers_notice(
    six: tuple[KGSync, ox.Store], metadata: Graph
) -> None:
    report = manifest_of(six[0], 5).report
    said = evaluations(metadata, URIRef(f"{NAME}#run5"))
    groups = report["learned"]["groups"]
    assert {"added", "unchanged", "unseen"} <= set(groups)
    for group, quality in groups.items():
        assert said[f"{group}MeanReciprocalRank"] == pytest.approx(quality["mrr"])
        assert said[f"{group}MeanReciprocalRankError"] == pytest.approx(quality["mrr_error"])
        assert said[f"{group}TriplesRanked"] == quality["triples"]
        assert said[f"{group}TriplesInTop10"] == quality["top_10"]
    assert said["rankingCandidates"] == report["learned"]["candidates"] == report["entities"]
    assert said["neighborOverlap"] == pytest.approx(report["neighbors"]["overlap"])
    assert said["neighborOverlapError"] == pytest.approx(report["neighbors"]["error"])
    for kind, counts in report["rewritten"].items():
        share = counts["moved"] / counts["shared"]
        assert said[f"{kind}VectorsRewritten"] == pytest.approx(share)
    first = evaluations(metadata, URIRef(f"{NAME}#run1"))
    assert not {"rankingCandidates", "neighborOverlap", "entityVectorsRewritten"} & set(first)


def test_deleted_triples_that_still_rank_high_are_named_whatever_their_iris(
    six: tuple[KGSync, ox.Store],
) -> None:
    manifest = manifest_of(six[0], 5)
    hostile = 'http://example.org/a b\n<"\\>'
    triple = {"head": hostile, "relation": iri("next"), "tail": iri("e1")}
    ranked = {**triple, "head_rank": 1.5, "tail_rank": 30.0}
    learned = {**manifest.report["learned"], "still_ranked": [ranked]}
    told = replace(manifest, report={**manifest.report, "learned": learned})
    store, graph = ox.Store(), MetadataGraph(NAME, six[0].state.uuid)
    with opened(store) as target:
        for _ in range(2):  # written again, it replaces itself
            graph.stage(target, told, six[0].state.version(5).path)
        graph.flip(target, 5)
    found = published(store)
    run = URIRef(f"{NAME}#run5")
    (node,) = found.objects(run, KGE.stillRanked)
    assert {name: str(found.value(node, KGE[name])) for name in triple} == triple
    assert found.value(node, KGE.headRank) == Literal(1.5)
    assert complaints(found) == ""
    with opened(store) as target:
        graph.stage(target, manifest, six[0].state.version(5).path)
    assert not list(published(store).subjects(KGE.head))


def test_estimates_come_with_their_errors(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state")
    sampled = replace(sync.settings.evaluation, stability_sample=10)
    sync.settings = replace(sync.settings, evaluation=sampled)
    sync.catch_up()
    said = evaluations(published(store), URIRef(f"{NAME}#run2"))
    assert said["entityMeanChangeError"] > 0
    assert "relationMeanChangeError" not in said


def test_a_version_tells_its_size_its_change_and_its_source(
    six: tuple[KGSync, ox.Store], metadata: Graph
) -> None:
    manifest = manifest_of(six[0], 6)
    report = manifest.report

    def count(name: str) -> Any:
        value = metadata.value(VERSION, KGE[name])
        assert isinstance(value, Literal)
        return value.toPython()

    assert count("entities") == report["entities"]
    assert count("edges") == sum(report["triples"].values())
    assert (count("deletedTriples"), count("addedTriples")) == (7, 0)
    assert (count("deletedRelations"), count("deletedEntities")) == (1, 0)
    assert metadata.value(VERSION, PROV.wasDerivedFrom) == SOURCE
    assert metadata.value(SOURCE, VOID.triples) == Literal(manifest.triples)
    assert metadata.value(VERSION, DCAT.previousVersion) == URIRef(f"{NAME}#v5")


def test_a_run_began_its_seconds_before_it_ended(
    six: tuple[KGSync, ox.Store], metadata: Graph
) -> None:
    started, ended = (
        metadata.value(RUN, moment).toPython()  # type: ignore[union-attr]
        for moment in (PROV.startedAtTime, PROV.endedAtTime)
    )
    spent = sum(manifest_of(six[0], 6).report["seconds"].values())
    assert abs((ended - started).total_seconds() - spent) <= 1
    assert metadata.value(VERSION, DCTERMS.issued).toPython() == ended  # type: ignore[union-attr]


def test_nothing_that_tells_a_place_or_a_person_is_published(tmp_path: Path) -> None:
    secret = EndpointSettings(headers={"X-Key": "s3cret"}, update_url="http://me:s3cret@127.0.0.1/")
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state", endpoint=secret)
    source = replace(sync.settings.source, endpoint=secret)
    sync.settings = replace(sync.settings, source=source)
    sync.step()
    manifest = manifest_of(sync, 1)
    assert not {"source", "state", "publish", "schedule"} & set(manifest.settings)
    with opened(store) as target:
        MetadataGraph(NAME, sync.state.uuid).stage(
            target,
            manifest,
            sync.state.version(1).path,
            endpoint="https://me:s3cret@example.org:8443/sparql?key=s3cret",
        )
    graph = published(store)
    assert "s3cret" not in graph.serialize(format="nt")
    assert complaints(graph) == ""
    source_node = graph.value(URIRef(f"{NAME}#v1"), PROV.wasDerivedFrom)
    assert graph.value(source_node, VOID.sparqlEndpoint) == URIRef(
        "https://example.org:8443/sparql"
    )


# -- writing ---------------------------------------------------------------------------------------


def test_files_are_named_where_they_are_served(six: tuple[KGSync, ox.Store]) -> None:
    sync, _ = six
    folder = sync.state.version(6)
    for base, start in (
        (None, folder.path.resolve().as_uri() + "/"),
        ("https://example.org/kg/", "https://example.org/kg/000006/"),
    ):
        store = ox.Store()
        with opened(store) as target:
            metadata = MetadataGraph(NAME, sync.state.uuid, base)
            metadata.stage(target, folder.manifest, folder.path)
        url = published(store).value(VECTORS, DCAT.downloadURL)
        assert url == URIRef(f"{start}embeddings/vectors.parquet")


def stage_once(metadata: MetadataGraph, store: GraphStore, sync: KGSync) -> None:
    """Describe the sixth version with literals, and make it current."""
    folder = sync.state.version(6)
    metadata.stage(store, folder.manifest, folder.path)
    metadata.link_literals(store, 6, COPY)
    metadata.flip(store, 6)


def stage_twice(metadata: MetadataGraph, store: GraphStore, sync: KGSync) -> None:
    """Describe the sixth version, and once more with other facts, and make it current."""
    folder = sync.state.version(6)
    more = replace(folder.manifest, triples=1)
    stale = LiteralCopy(EX + "stale", COPY.datatype, 1, 1, 0.0)
    metadata.stage(store, more, folder.path, endpoint="http://example.org/old")
    metadata.link_literals(store, 6, stale)
    for _ in range(2):
        stage_once(metadata, store, sync)


def test_describing_a_version_again_replaces_what_was_said(six: tuple[KGSync, ox.Store]) -> None:
    sync, _ = six
    metadata = MetadataGraph(NAME, sync.state.uuid)
    once, often = ox.Store(), ox.Store()
    with opened(once) as store:
        stage_once(metadata, store, sync)
    with opened(often) as store:
        stage_twice(metadata, store, sync)
    assert set(published(once)) == set(published(often))
    assert complaints(published(often)) == ""


@pytest.mark.parametrize("action", ["step", "rollback", "rebuild"])
def test_what_was_not_described_at_its_time_is_described_later(tmp_path: Path, action: str) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    for number in range(1, 5):
        shown = replace(sync.settings.publish, metadata=number in (1, 3))
        sync.settings = replace(sync.settings, publish=shown)
        sync.step()
    for name in (NAME, EX + "another"):
        shown = replace(sync.settings.publish, metadata=True, graph=name)
        sync.settings = replace(sync.settings, publish=shown)
        if action == "rollback":
            sync.rollback(3 if name == NAME else 2)
        else:
            sync.rebuild() if action == "rebuild" else sync.step()
        graph = published(store, name)
        assert complaints(graph) == ""
        numbers = {str(number) for _, number in graph.subject_objects(DCAT.version)}
        assert {"1", "2", "3", "4"} <= numbers


def test_a_description_of_a_version_that_never_came_is_replaced(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state")
    sync.step()
    folder = sync.state.version(1)
    metadata = MetadataGraph(NAME, sync.state.uuid)
    before = set(published(store))
    never = replace(folder.manifest, created="2024-02-29T12:00:00+00:00", triples=7)
    with opened(store) as target:
        metadata.stage(target, never, folder.path)
    assert set(published(store)) != before
    sync.step()
    assert set(published(store)) == before


def distributions(graph: Graph) -> set[str]:
    return {str(node).rpartition("-")[2] for node in graph.objects(VERSION, DCAT.distribution)}


def test_files_and_literals_are_forgotten_apart(six: tuple[KGSync, ox.Store]) -> None:
    sync, _ = six
    metadata = MetadataGraph(NAME, sync.state.uuid)
    for forget_files in (True, False):
        graph = ox.Store()
        with opened(graph) as store:
            stage_once(metadata, store, sync)
            everything = distributions(published(graph))
            if forget_files:
                metadata.forget_files(store, [5, 6])
            else:
                metadata.unlink_literals(store, 6)
        left = published(graph)
        assert {"literals", "vectors"} < everything
        expected = {"literals"} if forget_files else everything - {"literals"}
        assert distributions(left) == expected
        assert complaints(left) == ""  # nothing is left of those that are gone
        assert (None, KGE.graph, None) in left or not forget_files


def test_retention_leaves_a_graph_that_conforms(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    sync.settings = replace(sync.settings, state=StateSettings(keep=1))
    sync.catch_up()
    graph = published(store)
    assert complaints(graph) == ""
    assert set(graph.subjects(DCAT.distribution)) == {URIRef(f"{NAME}#v4")}


@pytest.mark.parametrize("kind", ["oxigraph_server", "virtuoso"])
def test_servers_keep_the_description_in_shape(
    kind: str, six: tuple[KGSync, ox.Store], request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(kind)
    server.clear()
    sync, _ = six
    metadata = MetadataGraph(NAME, sync.state.uuid)
    with opened(endpoint_of(server)) as store:
        stage_twice(metadata, store, sync)
        assert metadata.head(store) == 6
        fifth, sixth = manifest_of(sync, 5), manifest_of(sync, 6)
        assert metadata.missing(store, {5: fifth.created, 6: sixth.created}) == {5}
        other = replace(sixth, created="2024-02-29T12:00:00+00:00")
        assert metadata.missing(store, {6: other.created}) == {6}
        count = server.count(NAME)
        embedded = ox.Store()
        with opened(embedded) as local:
            stage_twice(metadata, local, sync)
        assert count == len(embedded)
        where = queries.load("_pattern_named_graph").pattern(graph=NAME)
        text = server.query(
            queries.load("_statements").bind(where=where), accept="application/n-triples"
        )
        assert complaints(Graph().parse(data=text, format="nt")) == ""
        metadata.forget_files(store, [6])
        metadata.unlink_literals(store, 6)
        assert not server.rows(
            f"SELECT ?d WHERE {{ GRAPH <{NAME}> {{ ?d a <{DCAT.Distribution}> }} }}"
        )
