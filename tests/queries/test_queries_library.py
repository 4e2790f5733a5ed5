"""Every query for users gives the right answer: embedded, on an Oxigraph server, on Virtuoso."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

from kgsync import queries
from kgsync.errors import ConfigError
from kgsync.publish.literals.datatypes import DATATYPES, decode
from tests.queries.query_worlds import EMBEDDED, TYPICAL, World, living, sync_of, target_of
from tests.queries_readme import by_hand, head
from tests.thinning import thinned
from tests.worlds import GRAPHS, fill, iri, quads, versions

NS = "https://w3id.org/kgsync/ns#"
FUNCTION_QUERIES = {"most_moved", "nearest_neighbors", "nearest_neighbors_sidecar"}
_GRAPHS = f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s <{NS}embedding> ?o }} }}"
DIGITS = 1e-5
"""Virtuoso shows six digits of a double."""


@pytest.fixture(scope="module", params=TYPICAL)
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


def test_the_history_of_what_was_learned(world: World) -> None:
    rows = world.ask("learned_history")
    compared = [report for report in world.reports if report.learned is not None]
    assert [row["version"] for row in rows] == [str(report.version) for report in compared]
    assert len(rows) >= 2
    for row, report in zip(rows, compared, strict=True):
        assert report.learned is not None
        groups = report.learned["groups"]
        for name in ("added", "unchanged", "deleted", "unseen", "near", "elsewhere"):
            mrr = groups[name]["mrr"] if name in groups else None
            assert row[name] == (mrr if mrr is None else pytest.approx(mrr, rel=DIGITS))
        high = groups["deleted"]["top_10"] if "deleted" in groups else None
        assert row["deletedInTop10"] == high


def test_deleted_triples_that_still_rank_high(world: World) -> None:
    found = world.ask("still_ranked")
    told = [
        (str(report.version), triple["head"], triple["relation"], triple["tail"])
        for report in world.reports
        for triple in (report.learned or {}).get("still_ranked", ())
    ]
    rows = [(row["version"], row["head"], row["relation"], row["tail"]) for row in found]
    assert sorted(rows) == sorted(told)
    for row in found:
        assert min(row["headRank"], row["tailRank"]) <= 10


def test_deleted_triples_that_still_rank_high_are_found_where_there_are_some(
    tmp_path: Path,
) -> None:
    store = fill(ox.Store(), ["1"])
    left = [edge for edge in versions()["1"] if edge[1] != "skip" or edge[0] < "e2"]
    store.extend(quads("2", left))
    world = World("embedded", sync_of(store, tmp_path / "world"))
    world.sync.catch_up()
    (report,) = world.reports[1:]
    assert report.learned is not None
    group = report.learned["groups"]["deleted"]
    assert group["top_10"] >= len(report.learned["still_ranked"]) > 0
    rows = world.ask("still_ranked")
    assert [(row["headRank"], row["tailRank"]) for row in rows] == sorted(
        (triple["head_rank"], triple["tail_rank"]) for triple in report.learned["still_ranked"]
    )
    assert {row["relation"] for row in rows} <= {iri("skip"), iri("next"), iri("back")}
    assert world.ask("still_ranked", at=1) == []


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
        assert np.array_equal(decode(text, DATATYPES["list"].iri), world.sync.embedding(name))
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
        vector = decode(row["vector"], DATATYPES["list"].iri)
        assert np.array_equal(vector, world.sync.at(version).embedding(iri("new")))
        assert row["run"] == f"urn:kgsync:world#run{version}"
        assert row["source"] == world.reports[version - 1].graph_version
        assert row["started"] <= row["ended"]
    assert len(world.ask("run_of_literal", iri=iri("back"))) == 2
    assert world.ask("run_of_literal", iri=iri("nobody")) == []


# -- older versions --------------------------------------------------------------------------------

HISTORIES = {
    "learned_history": "version",
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
    with pytest.raises(ConfigError, match="no vectors of version 99 as literals"):
        embedded.ask("nearest_neighbors", version=99, iri=iri("e1"))


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
        with pytest.raises(ConfigError, match="only embedded stores support"):
            world.sync.query(name, **parameters)


PASTED = {
    "age": '"2100-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
    "among": f"<{iri('e2')}> <{iri('e3')}>",
    "drop": "-1.0",
    "graph": f"<{GRAPHS.format(version='1')}>",
    "iri": f"<{iri('e1')}>",
    "k": "10",
}


@pytest.mark.parametrize(
    "name", thinned(queries.available(), set(queries.available()[::3]).__contains__)
)
def test_a_query_may_be_pasted_into_a_client(world: World, name: str) -> None:
    """What the README says is replaced by hand; all else is a variable of SPARQL."""
    if name in FUNCTION_QUERIES and world.kind not in EMBEDDED:
        pytest.skip("functions work on embedded stores")
    query = queries.load(name)
    text = re.sub("^#.*\n", "", query.text, flags=re.MULTILINE)
    for parameter in by_hand(query):
        text = re.sub(rf"\${parameter.name}\b", PASTED[parameter.name], text)
    if world.kind == "virtuoso":
        text = text.replace("$metadata", "<urn:kgsync:world>")
    rows = world.ask(text)
    # In this world no deleted triple ranks high; another test has one where some do.
    ranked = any((report.learned or {}).get("still_ranked") for report in world.reports)
    assert bool(rows) == (ranked if name == "still_ranked" else True)
    if name in HISTORIES:
        assert rows == world.ask(name)


def test_every_query_for_users_is_in_this_file() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in queries.available() if f'"{name}"' not in text] == []


# -- what is written about them --------------------------------------------------------------------


def test_the_readme_of_the_library_has_every_query_and_parameter() -> None:
    text = (Path(queries.__path__[0]) / "README.md").read_text(encoding="utf-8")
    assert text.startswith(head())
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
