"""Every query for users gives the right answer: embedded, on an Oxigraph server, on Virtuoso."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from rdflib import Dataset

from kgsync import KGSync, queries
from kgsync.config import PublishSettings, SourceSettings
from kgsync.errors import ConfigError
from kgsync.graph.stores import StoreTarget
from kgsync.publish.literals import DATATYPES, decode
from kgsync.report import StepReport
from tests.adapters.kinds import endpoint_of
from tests.servers.server import Server
from tests.worlds import EX, GRAPHS, fill, iri, quick_settings, ring, versions

NS = "https://w3id.org/kgsync/ns#"
FUNCTION_QUERIES = {"most_moved", "nearest_neighbors", "nearest_neighbors_sidecar"}
KINDS = ["embedded", "rdflib", "oxigraph_server", "virtuoso"]
_GRAPHS = f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s <{NS}embedding> ?o }} }}"
DIGITS = 1e-5
"""Virtuoso shows six digits of a double."""
EMBEDDED = {"embedded", "rdflib"}
FOREIGN = f"""
<{EX}catalogue> <http://www.w3.org/ns/dcat#hasCurrentVersion> <{EX}catalogue/9> .
<{EX}catalogue> <http://www.w3.org/ns/dcat#hasVersion> <{EX}catalogue/9> .
<{EX}catalogue/9> <http://www.w3.org/ns/dcat#version> "9" .
"""
"""Somebody's own catalogue, in the same words as ours."""


@dataclass(frozen=True)
class World:
    """A sync of four versions that keeps all vectors as literals."""

    kind: str
    sync: KGSync

    def ask(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        table = self.sync.query(query, **parameters)
        return [dict(zip(table.columns, row, strict=True)) for row in table]

    @property
    def reports(self) -> list[StepReport]:
        return self.sync.history()


def target_of(kind: str, request: pytest.FixtureRequest) -> StoreTarget:
    if kind == "embedded":
        store = fill(ox.Store())
        store.load(FOREIGN.encode(), ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(EX + "mine"))
        return store
    if kind == "rdflib":
        dataset = Dataset()
        text = fill(ox.Store()).dump(format=ox.RdfFormat.N_QUADS)
        dataset.parse(data=text or b"", format="nquads")
        dataset.graph(EX + "mine").parse(data=FOREIGN, format="nt")
        return dataset
    server: Server = request.getfixturevalue(kind)
    server.clear()
    for version, edges in versions().items():
        text_of = "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in edges)
        server.load(GRAPHS.format(version=version), text_of)
    server.load(EX + "mine", FOREIGN)
    return endpoint_of(server)


def sync_of(store: StoreTarget, state: Path, **publish: Any) -> KGSync:
    settings = replace(
        quick_settings(),
        source=SourceSettings(settle="0s", max_removed=1.0),
        publish=PublishSettings(literals="versions", keep=9, **publish),
    )
    return KGSync(store, GRAPHS, state=state, settings=settings)


@pytest.fixture(scope="module", params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    kind: str = request.param
    state = tmp_path_factory.mktemp(kind) / "world"
    sync = sync_of(target_of(kind, request), state)
    assert len(sync.catch_up()) == 4
    return World(kind, sync)


@pytest.fixture
def embedded(world: World) -> World:
    if world.kind not in EMBEDDED:
        pytest.skip("functions work on embedded stores")
    return world


def living(version: str) -> set[str]:
    return {iri(name) for s, _, o in versions()[version] for name in (s, o)}


# -- the history -----------------------------------------------------------------------------------


def test_the_current_version_and_its_files(world: World) -> None:
    rows = world.ask("current_version")
    assert {row["dataset"] for row in rows} == {"urn:kgsync:world#embeddings"}
    assert {(row["version"], row["model"], row["source"]) for row in rows} == {
        ("4", "transe", GRAPHS.format(version="11"))
    }
    places = {row["place"]: row for row in rows}
    files = {place for place in places if place.startswith("file://")}
    folder = Path(str(world.reports[-1].files))
    assert {(folder / "vectors.parquet").as_uri(), (folder / "index.parquet").as_uri()} <= files
    vectors = places[(folder / "vectors.parquet").as_uri()]
    assert vectors["bytes"] == (folder / "vectors.parquet").stat().st_size
    assert len(vectors["sha256"]) == 64
    (graph,) = places.keys() - files
    assert graph in world.sync.query(_GRAPHS).column("g")


def test_the_history_of_versions(world: World) -> None:
    rows = world.ask("version_history")
    assert [row["version"] for row in rows] == ["1", "2", "3", "4"]
    for row, report in zip(rows, world.reports, strict=True):
        assert report.change is not None
        assert row["action"] == report.action
        assert row["source"] == report.graph_version
        assert (row["entities"], row["relations"]) == (report.entities, report.relations)
        assert row["edges"] == sum(report.triples.values())
        assert row["addedTriples"] == sum(report.change.added_triples)
        assert row["deletedTriples"] == sum(report.change.deleted_triples)


def test_the_history_of_quality(world: World) -> None:
    rows = world.ask("quality_history")
    assert [row["version"] for row in rows] == ["1", "2", "3", "4"]
    for row, report in zip(rows, world.reports, strict=True):
        assert report.quality is not None
        for column, metric in {
            "mrr": "mrr",
            "meanRank": "mr",
            "hitsAt1": "hits@1",
            "hitsAt3": "hits@3",
            "hitsAt10": "hits@10",
        }.items():
            assert row[column] == pytest.approx(report.quality[metric], rel=DIGITS)
        before = report.quality_before["mrr"] if report.quality_before else None
        assert row["mrrBefore"] == (before if before is None else pytest.approx(before, rel=DIGITS))


def test_the_history_of_stability(world: World) -> None:
    rows = world.ask("stability_history")
    moved = [report for report in world.reports if report.stability is not None]
    assert [row["version"] for row in rows] == [str(report.version) for report in moved]
    assert len(rows) >= 2
    for row, report in zip(rows, moved, strict=True):
        assert report.stability is not None
        for kind in ("entity", "relation"):
            change = report.stability[kind]
            assert change is not None
            assert row[f"{kind}MeanChange"] == pytest.approx(change["nmc"], rel=DIGITS)


def test_versions_whose_quality_dropped(world: World) -> None:
    mrr = [report.quality["mrr"] for report in world.reports if report.quality]
    drops = [before - after for before, after in pairwise(mrr)]
    assert max(drops) > 0 > min(drops)
    middle = max(drops) / 2
    for drop in (middle, -1.0, 1.0):
        rows = world.ask("quality_drops", drop=round(drop, 6))
        expected = [str(i + 2) for i, found in enumerate(drops) if found > round(drop, 6)]
        assert [row["version"] for row in rows] == expected
    row = world.ask("quality_drops", drop=f"{middle:.6f}")[0]
    assert row["previousMrr"] - row["mrr"] == pytest.approx(max(drops), abs=1e-6)
    assert int(row["previousVersion"]) == int(row["version"]) - 1


def test_the_lineage_of_a_version(world: World) -> None:
    assert [row["number"] for row in world.ask("lineage")] == ["4", "3", "2", "1"]
    rows = world.ask("lineage", version=3)
    assert [row["number"] for row in rows] == ["3", "2", "1"]
    assert [row["source"] for row in rows] == [GRAPHS.format(version=v) for v in ("10", "2", "1")]
    assert [row["action"] for row in rows] == ["updated", "updated", "trained"]
    assert rows[0]["run"] == "urn:kgsync:world#run3"
    assert world.ask("lineage", version="99") == []


def test_the_settings_of_a_version(world: World) -> None:
    rows = world.ask("hyper_parameters", version=2)
    assert {row["model"] for row in rows} == {"transe"}
    settings = {row["setting"]: row["value"] for row in rows}
    assert settings["model.dimension"] == 8
    assert settings["training.epochs"] == 20
    assert settings["update.general_epochs"] == 8
    assert world.ask("hyper_parameters", at=2) == rows


def test_embeddings_that_are_old(world: World) -> None:
    assert world.ask("old_embeddings") == []
    time.sleep(1.1)  # times in the metadata have whole seconds
    rows = world.ask("old_embeddings", age="0s")
    assert [(row["dataset"], row["version"]) for row in rows] == [
        ("urn:kgsync:world#embeddings", "4")
    ]


# -- vectors as literals ---------------------------------------------------------------------------


def test_the_vectors_of_the_current_version(world: World) -> None:
    rows = world.ask("current_vectors")
    entities = {row["iri"]: row["vector"] for row in rows if row["property"] == NS + "embedding"}
    assert entities.keys() == living("11")
    for name, text in entities.items():
        assert np.array_equal(decode(text, DATATYPES["list"]), world.sync.embedding(name))
    relations = {row["iri"] for row in rows} - entities.keys()
    assert relations == {iri("next"), iri("skip"), iri("likes")}
    assert len(rows) == len(entities) + len(relations)


def test_entities_without_a_vector(world: World) -> None:
    assert world.ask("entities_without_embedding") == []
    rows = world.ask("entities_without_embedding", graph=GRAPHS.format(version="1"))
    assert [row["entity"] for row in rows] == sorted(living("1") - living("11"))
    assert len(rows) == 1


def test_the_run_that_produced_a_literal(world: World) -> None:
    rows = world.ask("run_of_literal", iri=iri("new"))
    assert [row["version"] for row in rows] == ["2", "3", "4"]
    for row in rows:
        version = int(row["version"])
        vector = decode(row["vector"], DATATYPES["list"])
        assert np.array_equal(vector, world.sync.at(version).embedding(iri("new")))
        assert row["run"] == f"urn:kgsync:world#run{version}"
        assert row["source"] == world.reports[version - 1].graph_version
        assert row["started"] <= row["ended"]
    assert len(world.ask("run_of_literal", iri=iri("back"))) == 2
    assert world.ask("run_of_literal", iri=iri("nobody")) == []


# -- older versions --------------------------------------------------------------------------------

HISTORIES = {
    "quality_history": "version",
    "stability_history": "version",
    "version_history": "version",
    "lineage": "number",
}


@pytest.mark.parametrize("name", sorted(HISTORIES))
def test_a_history_ends_with_the_version_that_is_meant(world: World, name: str) -> None:
    for version in (2, 3):
        rows = world.ask(name, at=version)
        whole = world.ask(name)
        column = HISTORIES[name]
        assert rows == [row for row in whole if int(row[column]) <= version]
        parameter = "version" if name == "lineage" else "until"
        assert world.ask(name, **{parameter: version}) == rows
    assert len(rows) >= 2


def test_what_is_asked_about_an_older_version(world: World) -> None:
    everything = world.ask("quality_drops", drop=-1)
    assert [row["version"] for row in everything] == ["2", "3", "4"]
    assert world.ask("quality_drops", drop=-1, at=3) == everything[:2]
    assert world.ask("quality_drops", drop=-1, until=1) == []
    rows = world.ask("run_of_literal", iri=iri("new"), at=3)
    assert [row["version"] for row in rows] == ["2", "3"]
    rows = world.ask("entities_without_embedding", graph=GRAPHS.format(version="1"), at=2)
    assert [row["entity"] for row in rows] == sorted(living("1") - living("2"))
    assert world.ask("entities_without_embedding", at=2) == []


@pytest.mark.parametrize("name", ["current_vectors", "current_version", "old_embeddings"])
def test_a_query_that_is_always_about_now_refuses_a_version(world: World, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: `at` .* the same for every version"):
        world.ask(name, at=2)


def test_a_version_is_not_named_twice(world: World) -> None:
    with pytest.raises(ConfigError, match=r"lineage: `at` .* \$version says so already"):
        world.ask("lineage", at=2, version=3)


# -- functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nearest_neighbors", "nearest_neighbors_sidecar"])
def test_nearest_neighbors_are_those_of_the_sync(embedded: World, name: str) -> None:
    rows = embedded.ask(name, iri=iri("e1"), k=7)
    expected = embedded.sync.neighbors(iri("e1"), 7)
    assert [row["entity"] for row in rows] == [neighbor.iri for neighbor in expected]
    cosines = [neighbor.similarity for neighbor in expected]
    assert [row["similarity"] for row in rows] == pytest.approx(cosines, abs=1e-6)
    assert embedded.ask(name, iri=iri("nobody")) == []


def test_neighbors_of_an_older_version_come_from_its_files(embedded: World) -> None:
    rows = embedded.ask("nearest_neighbors_sidecar", at=2, iri=iri("new"), k=3)
    expected = embedded.sync.at(2).neighbors(iri("new"), 3)
    assert [row["entity"] for row in rows] == [neighbor.iri for neighbor in expected]


def test_neighbors_of_an_older_version_among_literals(embedded: World) -> None:
    for version in (2, 3):
        expected = [n.iri for n in embedded.sync.at(version).neighbors(iri("e1"), 5)]
        rows = embedded.ask("nearest_neighbors", at=version, iri=iri("e1"), k=5)
        assert [row["entity"] for row in rows] == expected
    assert embedded.ask("nearest_neighbors", version=99, iri=iri("e1")) == []


def test_entities_whose_vector_moved_most(embedded: World) -> None:
    before, after = embedded.sync.at(2), embedded.sync.at(3)
    expected = {
        name: float(np.linalg.norm(before.embedding(name) - after.embedding(name)))
        for name in living("2") & living("10")
    }
    rows = embedded.ask("most_moved", from_=2, to=3, k=5)
    assert [row["entity"] for row in rows] == sorted(expected, key=expected.__getitem__)[:-6:-1]
    for row in rows:
        assert row["distance"] == pytest.approx(expected[row["entity"]], rel=1e-6)
    assert {row["distance"] for row in embedded.ask("most_moved")} == {0.0}  # 3 and 4 are equal
    assert embedded.ask("most_moved", at=3, k=5) == rows


def test_functions_on_an_endpoint_are_an_error_that_says_so(world: World) -> None:
    if world.kind in EMBEDDED:
        pytest.skip("it is no endpoint")
    for name in sorted(FUNCTION_QUERIES):
        parameters: dict[str, Any] = (
            {"iri": iri("e1")} if "iri" in queries.load(name).parameters else {}
        )
        with pytest.raises(ConfigError, match="works on embedded stores only"):
            world.sync.query(name, **parameters)


def test_every_query_for_users_is_in_this_file() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in queries.available() if f'"{name}"' not in text] == []


# -- several syncs in one store --------------------------------------------------------------------


def test_a_query_concerns_the_own_sync_unless_told_otherwise(tmp_path: Path) -> None:
    store = target_of("embedded", None)  # type: ignore[arg-type]
    one, two = sync_of(store, tmp_path / "one"), sync_of(store, tmp_path / "two")
    one.step()
    two.catch_up()
    assert one.query("version_history").column("version") == ["1"]
    assert two.query("version_history").column("version") == ["1", "2", "3", "4"]
    everything = one.query("version_history", metadata="*")
    assert everything.column("version") == ["1", "1", "2", "3", "4"]
    assert set(everything.column("dataset")) == {
        "urn:kgsync:one#embeddings",
        "urn:kgsync:two#embeddings",
    }
    other = one.query("version_history", metadata="<urn:kgsync:two>")
    assert len(other) == 4


def test_each_sync_has_its_own_current_version(tmp_path: Path) -> None:
    store = target_of("embedded", None)  # type: ignore[arg-type]
    one, two = sync_of(store, tmp_path / "one"), sync_of(store, tmp_path / "two")
    one.step()
    two.catch_up()
    assert one.query("lineage", metadata="*").column("number") == ["1", "4", "3", "2", "1"]
    assert one.query("lineage", metadata="urn:kgsync:two").column("number") == ["4", "3", "2", "1"]
    assert two.query("lineage", metadata="*", at=2).column("number") == ["1", "2", "1"][1:]
    moved = two.query("most_moved", from_=1, to=2, metadata="*", k=1000).column("entity")
    assert sorted(map(str, moved)) == sorted(living("1") & living("2"))


def test_only_versions_that_led_to_the_current_one_are_in_a_history(tmp_path: Path) -> None:
    store = target_of("embedded", None)  # type: ignore[arg-type]
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    sync.rollback(2)
    staged = f"""
    <urn:kgsync:state#embeddings> <http://www.w3.org/ns/dcat#hasVersion> <urn:staged> .
    <urn:staged> <http://www.w3.org/ns/dcat#version> "5" .
    <urn:staged> <http://www.w3.org/ns/dcat#previousVersion> <urn:kgsync:state#v2> .
    <urn:staged> <http://www.w3.org/ns/prov#wasDerivedFrom> <{EX}kg/12> .
    <urn:staged> <http://www.w3.org/ns/prov#wasGeneratedBy> <urn:kgsync:state#run1> .
    """
    store.load(staged.encode(), ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode("urn:kgsync:state"))
    assert sync.query("quality_drops", drop=-1).column("version") == ["2"]
    assert sync.query("version_history").column("version") == ["1", "2"]
    assert sync.query("run_of_literal", iri=iri("e1")).column("version") == ["1", "2"]


@pytest.mark.parametrize("kind", sorted(EMBEDDED))
def test_a_default_graph_cannot_be_named(tmp_path: Path, kind: str) -> None:
    text = "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in ring(12))
    store: Any = ox.Store() if kind == "embedded" else Dataset()
    if kind == "embedded":
        store.load(text.encode(), ox.RdfFormat.N_TRIPLES)
    else:
        store.default_graph.parse(data=text, format="nt")
    settings = replace(
        quick_settings(),
        source=SourceSettings(settle="0s"),
        publish=PublishSettings(literals="versions"),
    )
    sync = KGSync(store, state=tmp_path / "state", settings=settings)
    sync.step()
    for name in ("entities_without_embedding", "nearest_neighbors_sidecar"):
        given: dict[str, Any] = {"iri": iri("e1")} if "iri" in queries.load(name).parameters else {}
        with pytest.raises(ConfigError, match=rf"{name}: \$graph cannot be filled in.*default gr"):
            sync.query(name, **given)
        assert sync.query(name, graph=EX + "nothing", **given).rows == []
    with pytest.raises(ConfigError, match=r"most_moved: \$from cannot be filled in.*give from="):
        sync.query("most_moved")
    assert len(sync.query("nearest_neighbors", iri=iri("e1"))) == 10


def test_a_query_pasted_into_a_store_works_without_parameters(tmp_path: Path) -> None:
    """What is not filled in is a variable of SPARQL."""
    store = target_of("embedded", None)  # type: ignore[arg-type]
    sync_of(store, tmp_path / "one").catch_up()
    whole = {"version_history": 4, "quality_history": 4, "lineage": 4, "current_version": None}
    for name, count in {**whole, "current_vectors": None}.items():
        rows: Any = store.query(queries.load(name).text)
        found = len(list(rows))
        assert found == count if count else found >= 4, name


def test_a_store_that_cannot_be_written_is_asked_where_its_metadata_is(tmp_path: Path) -> None:
    file = tmp_path / "graph.nt"
    file.write_text("".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in ring(12)))
    settings = replace(quick_settings(), source=SourceSettings(settle="0s"))
    sync = KGSync(file, state=tmp_path / "state", settings=settings)
    sync.step()
    assert sync.query("version_history").column("version") == ["1"]


# -- what is written about them --------------------------------------------------------------------


def test_the_readme_of_the_library_has_every_query_and_parameter() -> None:
    text = (Path(queries.__path__[0]) / "README.md").read_text(encoding="utf-8")
    _, *sections = text.split("\n### ")
    assert [section.splitlines()[0] for section in sections] == queries.available()
    for section in sections:
        query = queries.load(section.splitlines()[0])
        assert query.summary in section
        named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        assert named == list(query.parameters)
        assert f"$ kgsync query {query.name}" in section


def test_the_example_of_a_query_of_ones_own_works(tmp_path: Path) -> None:
    text = (Path(queries.__path__[0]) / "README.md").read_text(encoding="utf-8")
    file = tmp_path / "mine.rq"
    file.write_text(text.split("```sparql\n")[1].split("```")[0])
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state")
    sync.step()
    assert sorted(sync.query(file, k=2).column("n")) == [40, 40]  # type: ignore[type-var]
