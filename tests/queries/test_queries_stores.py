"""Queries in stores that several syncs share, that are not the source, or that lack something."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import Dataset

from kgsync import KGSync, queries
from kgsync.config import PublishSettings, SourceSettings
from kgsync.errors import ConfigError
from tests.queries.query_worlds import EMBEDDED, TYPICAL, embedded_store, living, sync_of, target_of
from tests.servers.server import Server
from tests.worlds import EX, GRAPHS, Edge, fill, iri, quads, quick_settings, ring, versions


@pytest.mark.parametrize("kind", TYPICAL)
def test_a_query_concerns_the_own_sync_unless_told_otherwise(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = target_of(kind, request)
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
    store = embedded_store()
    one, two = sync_of(store, tmp_path / "one"), sync_of(store, tmp_path / "two")
    one.step()
    two.catch_up()
    assert one.query("lineage", metadata="*").column("number") == ["1", "4", "3", "2", "1"]
    assert one.query("lineage", metadata="urn:kgsync:two").column("number") == ["4", "3", "2", "1"]
    assert two.query("lineage", metadata="*", at=2).column("number") == ["1", "2", "1"][1:]
    moved = two.query("most_moved", from_=1, to=2, metadata="*", k=1000).column("entity")
    assert sorted(map(str, moved)) == sorted(living("1") & living("2"))


def test_only_versions_that_led_to_the_current_one_are_in_a_history(tmp_path: Path) -> None:
    store = embedded_store()
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
        source=SourceSettings(quiet_period="0s"),
        publish=PublishSettings(literals="versions"),
    )
    sync = KGSync(store, state=tmp_path / "state", settings=settings)
    sync.step()
    with pytest.raises(ConfigError, match=r"\$graph cannot be filled in.*default graph"):
        sync.query("entities_without_embedding")
    with pytest.raises(ConfigError, match=f"holds no graph <{EX}nothing>"):
        sync.query("entities_without_embedding", graph=EX + "nothing")
    assert len(sync.query("nearest_neighbors_sidecar", iri=iri("e1"))) == 10
    with pytest.raises(ConfigError, match=r"most_moved: \$from cannot be filled in.*give from="):
        sync.query("most_moved")
    assert len(sync.query("nearest_neighbors", iri=iri("e1"))) == 10


# -- stores that are not the source ----------------------------------------------------------------

ELSEWHERE = ["files", "an endpoint without updates", "another store"]


@pytest.fixture(params=ELSEWHERE)
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> KGSync:
    """A sync of two versions whose metadata is in a store without them."""
    state = tmp_path / "state"
    if request.param == "another store":
        ox.Store(str(tmp_path / "other")).extend(quads("1", ring(50)))
        target = str(tmp_path / "other")
        sync = sync_of(fill(ox.Store(), ["1", "2"]), state, target=target)
    else:
        texts = {version: ntriples(versions()[version]) for version in ("1", "2")}
        if request.param == "files":
            store: Any = tmp_path / "dumps"
            store.mkdir()
            for version, text in texts.items():
                (store / f"kg-{version}.nt").write_text(text)
        else:
            server: Server = request.getfixturevalue("oxigraph_server")
            server.clear()
            for version, text in texts.items():
                server.load(GRAPHS.format(version=version), text)
            store = server.query_url
        graphs = None if request.param == "files" else GRAPHS
        sync = sync_of(store, state, graphs, literals="none")
    assert len(sync.catch_up()) == 2
    return sync


def ntriples(edges: list[Edge]) -> str:
    return "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in edges)


def test_metadata_is_asked_where_it_is(elsewhere: KGSync) -> None:
    assert elsewhere.query("version_history").column("version") == ["1", "2"]


def test_neighbors_by_iri_need_neither_graph_nor_literals(elsewhere: KGSync) -> None:
    for version in (None, 1):
        expected = elsewhere.at(version).neighbors(iri("e1"), 7)
        found = elsewhere.query("nearest_neighbors_sidecar", at=version, iri=iri("e1"), k=7)
        assert found.column("entity") == [neighbor.iri for neighbor in expected]
    few = [iri("e5"), iri("e6"), iri("nobody")]
    found = elsewhere.query("nearest_neighbors_sidecar", iri=iri("e1"), among=few)
    assert set(found.column("entity")) == {iri("e5"), iri("e6")}


def test_a_graph_that_the_store_lacks_is_an_error(elsewhere: KGSync, tmp_path: Path) -> None:
    lacking = r"holds no graph <.*>, and without it the answer would be wrong; .*give graph=\.\.\."
    with pytest.raises(ConfigError, match=lacking):
        elsewhere.query("entities_without_embedding")
    mine = tmp_path / "mine.rq"
    mine.write_text("# $graph: iri = ?source\nSELECT ?s WHERE { GRAPH $graph { ?s ?p ?o } }")
    with pytest.raises(ConfigError, match=lacking):
        elsewhere.query(mine, at=2)


def test_another_graph_that_the_store_holds_can_be_given(tmp_path: Path) -> None:
    other = tmp_path / "other"
    ox.Store(str(other)).extend(quads("9", ring(42)))
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", target=str(other))
    sync.step()
    rows = sync.query("entities_without_embedding", graph=GRAPHS.format(version="9"))
    assert rows.column("entity") == [iri("e40"), iri("e41")]


def test_a_graph_that_is_gone_is_an_error(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    store.remove_graph(ox.NamedNode(GRAPHS.format(version="1")))
    assert sync.query("entities_without_embedding").rows == []
    with pytest.raises(ConfigError, match=r"holds no graph <.*kg/1>"):
        sync.query("entities_without_embedding", at=1)


@pytest.mark.parametrize("kind", sorted(EMBEDDED))
def test_an_entity_that_sparql_cannot_name_is_no_candidate(tmp_path: Path, kind: str) -> None:
    text = ntriples([*ring(12), ("100%", "next", "e1"), ("e2", "next", "100%")])
    store: Any = ox.Store() if kind == "embedded" else Dataset()
    if kind == "embedded":
        store.load(text.encode(), ox.RdfFormat.N_TRIPLES, lenient=True)
    else:
        store.default_graph.parse(data=text, format="nt")
    settings = replace(quick_settings(), source=SourceSettings(quiet_period="0s"))
    sync = KGSync(store, state=tmp_path / "state", settings=settings)
    sync.step()
    assert len(sync.at().iris()) == 13
    found = sync.query("nearest_neighbors_sidecar", iri=iri("e1"), k=100).column("entity")
    assert set(found) == {iri(f"e{i}") for i in range(12)} - {iri("e1")}


# -- what is not published -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "current_vectors",
        "entities_without_embedding",
        "most_moved",
        "nearest_neighbors",
        "run_of_literal",
    ],
)
def test_a_query_of_literals_where_there_are_none_is_an_error(tmp_path: Path, name: str) -> None:
    given: dict[str, Any] = {"iri": iri("e1")} if "iri" in queries.load(name).parameters else {}
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state", literals="none")
    sync.catch_up()
    with pytest.raises(ConfigError, match=f"{name}: .* no vectors of version [12] as literals"):
        sync.query(name, **given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("entities_without_embedding", {"at": 1}),
        ("most_moved", {"from_": 1, "to": 3}),
        ("nearest_neighbors", {"iri": iri("e1"), "version": 1}),
        ("run_of_literal", {"iri": iri("e1"), "until": 1}),
    ],
)
def test_so_is_one_of_a_version_whose_literals_are_gone(
    tmp_path: Path, name: str, given: dict[str, Any]
) -> None:
    sync = sync_of(fill(ox.Store(), ["1", "2", "10"]), tmp_path / "state", literals="rolling")
    sync.catch_up()
    with pytest.raises(ConfigError, match=f"{name}: .* no vectors of version 1 as literals"):
        sync.query(name, **given)
    assert sync.query("entities_without_embedding").rows == []
    assert sync.query("run_of_literal", iri=iri("nobody")).rows == []


def test_a_query_where_nothing_is_published_is_an_error(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", literals="none", metadata=False)
    sync.step()
    with pytest.raises(ConfigError, match=r"holds no metadata in <urn:kgsync:state>.*publish\.met"):
        sync.query("version_history")
    assert len(sync.query("nearest_neighbors_sidecar", iri=iri("e1"))) == 10
