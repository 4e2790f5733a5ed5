"""Vectors as literals in the store: what readers see, on every kind of store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from rdflib import VOID

from kgsync import KGSync, open_store
from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.config import ModelSettings, PublishSettings, Settings, SourceSettings
from kgsync.errors import PermanentStoreError
from kgsync.graph.port import GraphStore
from kgsync.publish.literals.content import KINDS, Content
from kgsync.publish.literals.datatypes import DATATYPES, decode
from kgsync.publish.metadata.description import DCAT
from tests.adapters.kinds import endpoint_of
from tests.publish.described import complaints, published
from tests.servers.publishing_kills import READ, Mode, chase
from tests.servers.server import Server
from tests.thinning import thinned
from tests.worlds import EX, GRAPHS, disk_store, fill, iri, quads, quick_settings, ring, versions

COPY_OF = "https://w3id.org/kgsync/ns#copyOf"


def settings_of(**publish: Any) -> Settings:
    chosen = {"literals": "versions", **publish}
    return replace(
        quick_settings(),
        source=SourceSettings(quiet_period="0s", max_removed=1.0),
        publish=PublishSettings(**chosen),
    )


def sync_of(store: Any, folder: Path, **publish: Any) -> KGSync:
    return KGSync(store, GRAPHS, state=folder / "state", settings=settings_of(**publish))


def text_of(version: str) -> str:
    return "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in versions()[version])


@pytest.fixture(params=["embedded", "oxigraph_server", "virtuoso"])
def store(request: pytest.FixtureRequest) -> Any:
    """A store with all versions of the test world, as KGSync takes it."""
    if request.param == "embedded":
        return fill(ox.Store())
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    for name in versions():
        server.load(GRAPHS.format(version=name), text_of(name))
    return endpoint_of(server)


def read(target: Any) -> tuple[str | None, dict[tuple[str, str], str]]:
    """The version that a reader sees, and its literals by element and kind."""
    store: GraphStore = open_store(target)
    rows = store.select(READ)
    names = {row[0].value for row in rows if row[0]}
    assert len(names) <= 1
    kinds = {property_: kind for kind, property_ in KINDS.items()}
    found = {(e.value, kinds[p.value]): v.value for _, e, p, v in rows if e and p and v}
    assert len(found) == len(rows)
    return (names.pop() if names else None), found


def expected(sync: KGSync, version: int | None = None) -> dict[tuple[str, str], np.ndarray]:
    """Every vector of a version, by the files."""
    folder = sync.state.version(version) if version else sync.state.current()
    assert folder is not None
    content = Content.of_sidecar(folder.path / "embeddings")
    return {
        (name, kind): row
        for kind, iris in content.iris.items()
        for name, row in zip(iris.to_pylist(), content.tables[kind], strict=True)
    }


def assert_shows(target: Any, sync: KGSync, version: int, datatype: str = "list") -> None:
    """A reader sees this version, whole and bit by bit."""
    seen, found = read(target)
    wanted = expected(sync, version)
    assert seen == str(version)
    assert found.keys() == wanted.keys()
    for key, text in found.items():
        assert decode(text, DATATYPES[datatype].iri).tobytes() == wanted[key].tobytes(), key


def graphs_of(target: Any) -> list[str]:
    return [name for name in open_store(target).graphs() if "/vectors/" in name]


@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_readers_see_every_version_as_it_is_committed(
    store: Any, tmp_path: Path, mode: str
) -> None:
    sync = sync_of(store, tmp_path, literals=mode)
    for number in range(1, 5):
        report = sync.step()
        assert report.version == number
        assert report.literals is not None
        assert report.literals["written"] + report.literals["unchanged"] == len(expected(sync))
        assert_shows(store, sync, number)
    # The last two versions are the same, and share a graph; one that rolls has its twin.
    assert len(graphs_of(store)) == (2 if mode == "rolling" else 1)
    assert not sync.step().changed


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype_is_stored_exactly(store: Any, tmp_path: Path, datatype: str) -> None:
    sync = sync_of(store, tmp_path, datatype=datatype)
    sync.step()
    assert_shows(store, sync, 1, datatype)


def test_a_rolling_graph_rewrites_only_what_moved(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path, literals="rolling")
    reports = sync.catch_up()
    # Version 4 has the same edges as 3: it differs from what the other graph holds, version 2.
    assert [report.action for report in reports][-1] == "unchanged"
    assert reports[0].literals is not None
    assert reports[0].literals["unchanged"] == 0
    store.extend(quads("12", versions()["11"]))
    last = sync.step()
    assert last.action == "unchanged"
    assert last.literals is not None
    assert last.literals["written"] == last.literals["removed"] == 0
    assert last.literals["unchanged"] == len(expected(sync))
    assert_shows(store, sync, 5)


def test_a_tolerance_leaves_vectors_alone_that_moved_less(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2", "10"])
    sync = sync_of(store, tmp_path, literals="rolling", tolerance=0.01)
    sync.step()
    sync.step()
    before = expected(sync, 1)
    report = sync.step()
    assert report.literals is not None
    assert 0 < report.literals["unchanged"] < len(expected(sync))
    assert report.literals["farthest"] >= report.literals["mean"] > 0.01
    _, found = read(store)
    wanted = expected(sync)
    assert found.keys() == wanted.keys()
    kept = 0
    for key, text in found.items():
        vector = decode(text, DATATYPES["list"].iri)
        assert np.linalg.norm(vector - wanted[key]) <= 0.01
        kept += key in before and np.array_equal(vector, before[key])
    assert kept >= report.literals["unchanged"]


def test_older_versions_keep_their_graphs_as_asked(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path, keep=3)
    sync.catch_up()
    graphs = graphs_of(store)
    # Version 4 is the same as version 3.
    assert [graph.split("/")[-2] for graph in graphs] == ["2", "3"]


def test_literals_can_be_switched_on_later(store: Any, tmp_path: Path) -> None:
    plain = sync_of(store, tmp_path, literals="none")
    assert [report.literals for report in plain.catch_up()] == [None] * 4
    assert read(store) == (None, {})
    for options in (
        {"literals": "versions"},
        {"literals": "rolling"},
        {"literals": "rolling", "datatype": "json"},
        {"literals": "versions", "datatype": "base64"},
    ):
        sync = sync_of(store, tmp_path, **options)
        assert not sync.step().changed
        assert_shows(store, sync, 4, options.get("datatype", "list"))


def test_a_copy_that_someone_dropped_is_made_again(store: Any, tmp_path: Path) -> None:
    sync = sync_of(store, tmp_path)
    sync.catch_up()
    graph = "urn:kgsync:state/vectors/3/list"  # versions 3 and 4 are the same
    open_store(store).update(f"DROP SILENT GRAPH <{graph}>")
    assert read(store) == (None, {})
    assert not sync.step().changed
    assert_shows(store, sync, 4)


def test_a_rolling_graph_that_someone_damaged_is_written_anew(store: Any, tmp_path: Path) -> None:
    sync = sync_of(store, tmp_path, literals="rolling")
    for _ in range(2):
        sync.step()
    hidden = "urn:kgsync:state/vectors/a"
    open_store(store).update(f"DELETE WHERE {{ GRAPH <{hidden}> {{ <{iri('e3')}> ?p ?o }} }}")
    report = sync.step()
    assert report.literals is not None
    assert report.literals["unchanged"] == 0
    assert_shows(store, sync, 3)


@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_a_store_that_was_put_back_to_an_older_backup(tmp_path: Path, mode: Mode) -> None:
    folder = disk_store(tmp_path / "kg")
    sync = sync_of(folder, tmp_path, literals=mode)
    for number in range(1, 5):
        sync.step()
        shutil.copytree(folder, tmp_path / f"backup {number}")
    shutil.rmtree(folder)
    (tmp_path / "backup 2").rename(folder)
    assert not sync.step().changed
    assert_shows(folder, sync, 4)
    for query, name in (("lineage", "number"), ("version_history", "version")):
        assert sorted(map(str, sync.query(query).column(name))) == ["1", "2", "3", "4"]
    metadata = published(ox.Store(str(folder)))
    assert complaints(metadata) == ""
    # The backup named files that retention has removed by now.
    with_files = {str(node)[-2:] for node in metadata.subjects(DCAT.distribution)}
    assert with_files == {"v2", "v3", "v4"}


def test_a_description_that_lost_a_part_is_whole_after_the_next_step(
    store: Any, tmp_path: Path
) -> None:
    sync = sync_of(store, tmp_path)
    sync.step()
    sync.step()
    name, opened = "urn:kgsync:state", open_store(store)
    for part in (f"<{name}#v1> ?p ?o", f"<{GRAPHS.format(version='2')}> <{VOID.triples}> ?o"):
        opened.update(f"DELETE WHERE {{ GRAPH <{name}> {{ {part} }} }}")
    assert sync.query("lineage").column("number") == ["2"]
    assert sync.step().version == 3
    assert sync.query("lineage").column("number") == ["3", "2", "1"]
    sizes = f"SELECT ?s ?n WHERE {{ GRAPH <{name}> {{ ?s <{VOID.triples}> ?n }} }}"
    assert len(opened.select(sizes)) == 3
    assert_shows(store, sync, 3)


@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_a_state_that_forgot_its_copies(store: Any, tmp_path: Path, mode: Mode) -> None:
    sync = sync_of(store, tmp_path, literals=mode)
    for number in range(1, 5):
        sync.step()
        (tmp_path / "state" / "literals.json").unlink()
        assert_shows(store, sync, number)
        assert not sync.plan().graph_version or number < 4
    assert len(graphs_of(store)) == 2  # a twin for version 4, as nobody knew that 3 is the same


def test_the_graph_that_readers_look_at_is_never_rewritten(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path)
    sync.step()
    graph = "urn:kgsync:state/vectors/1/list"
    open_store(store).update(f"DELETE WHERE {{ GRAPH <{graph}> {{ ?g <{COPY_OF}> ?digest }} }}")
    (tmp_path / "state" / "literals.json").unlink()
    sync.step()
    assert_shows(store, sync, 1)
    assert graphs_of(store) == [graph + "/again"]


def test_a_version_without_any_element_of_the_last_one(tmp_path: Path) -> None:
    store = ox.Store()
    store.extend(quads("1", ring(30)))
    sync = sync_of(store, tmp_path, literals="rolling")
    sync.step()
    others = [(f"x{s}", f"x{p}", f"x{o}") for s, p, o in ring(30)]
    for number in ("2", "3"):
        store.extend(quads(number, others if number == "2" else ring(30, start=100)))
        sync.step()
        assert_shows(store, sync, int(number))


def test_a_head_that_was_never_moved_is_not_hidden_by_a_rollback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path)
    sync.step()
    sync.step()
    update, seen = OxigraphStore.update, []

    def looking(self: OxigraphStore, text: str) -> None:
        update(self, text)
        seen.append(read(store)[0])

    with monkeypatch.context() as patch:
        patch.setattr("kgsync.publish.metadata.graph.MetadataGraph.flip", lambda *_: None)
        sync.step()
    assert read(store)[0] == "2"
    monkeypatch.setattr(OxigraphStore, "update", looking)
    sync.rollback(2)
    assert set(seen) == {"2"}
    assert_shows(store, sync, 2)


def test_retention_keeps_what_the_current_version_came_from(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path, keep=2)
    sync.catch_up()
    sync.rollback(2)
    sync.step()
    assert_shows(store, sync, 5)
    # Version 5 is version 3 once more, and comes from 2; 4 is kept no longer.
    assert [graph.split("/")[-2] for graph in graphs_of(store)] == ["2", "3"]
    assert float(str(sync.query("most_moved", k=1).values()[0][1])) > 0


def test_another_datatype_replaces_the_literals(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync_of(store, tmp_path).catch_up()
    sync = sync_of(store, tmp_path, datatype="json")
    sync.step()
    names = [graph.split("/")[-2:] for graph in graphs_of(store)]
    assert names == [["3", "list"], ["4", "json"]]


@pytest.mark.parametrize("tolerance", [0.0, 1e9])
def test_a_rolling_copy_has_one_datatype_also_after_a_change(
    tmp_path: Path, tolerance: float
) -> None:
    store = fill(ox.Store(), ["1", "2", "10"])
    options = {"literals": "rolling", "tolerance": tolerance}
    sync_of(store, tmp_path, **options).catch_up()
    for version, datatype in (("11", "json"), ("12", "list")):
        store.extend(quads(version, versions()["11"]))
        sync = sync_of(store, tmp_path, datatype=datatype, **options)
        assert sync.step().changed
        rows = store.query(READ)
        assert isinstance(rows, ox.QuerySolutions)
        assert {row["vector"].datatype.value for row in rows} == {DATATYPES[datatype].iri}


def test_without_literals_none_are_left(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path)
    sync.catch_up()
    store.extend(quads("12", [*versions()["11"], ("e1", "next", "e5")]))
    sync_of(store, tmp_path, literals="none").step()
    assert graphs_of(store) == []


def test_long_vectors_go_in_small_batches(store: Any, tmp_path: Path) -> None:
    settings = settings_of()
    settings = replace(settings, model=ModelSettings("rescal", dimension=40))
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings)
    sync.step()
    assert_shows(store, sync, 1)


def test_rollback_shows_the_old_version_everywhere(store: Any, tmp_path: Path) -> None:
    sync = sync_of(store, tmp_path)
    sync.catch_up()
    old = sync.at(2).embedding(iri("e20"))
    sync.rollback(2)
    assert sync.status().version == 2
    assert np.array_equal(sync.embedding(iri("e20")), old)
    assert_shows(store, sync, 2)
    report = sync.step()
    assert (report.version, report.previous, report.graph_version) == (5, 2, EX + "kg/10")
    assert_shows(store, sync, 5)


def test_someone_elses_graph_is_never_touched(tmp_path: Path) -> None:
    store = fill(ox.Store())
    name = ox.NamedNode("urn:kgsync:state/vectors/1/list")
    theirs = ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.NamedNode("urn:c"), name)
    store.add(theirs)
    with pytest.raises(PermanentStoreError, match="did not write"):
        sync_of(store, tmp_path).step()
    assert list(store.quads_for_pattern(None, None, None, name)) == [theirs]
    assert sync_of(store, tmp_path).status().version is None


def test_a_store_that_cannot_be_written_is_refused_before_training(
    oxigraph_server: Server, tmp_path: Path
) -> None:
    oxigraph_server.clear()
    oxigraph_server.load(GRAPHS.format(version="1"), text_of("1"))
    with pytest.raises(PermanentStoreError, match=r"update_url.*publish\.target"):
        sync_of(oxigraph_server.query_url, tmp_path).step()


def test_the_literals_are_never_taken_for_input(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    settings = replace(settings_of(), publish=PublishSettings(literals="versions"))
    sync = KGSync(store, state=tmp_path / "state", settings=settings)
    sync.step()
    assert not sync.plan().graph_version


def test_an_iri_that_is_entity_and_relation_has_both_vectors(tmp_path: Path) -> None:
    store = ox.Store()
    store.extend(quads("1", [*ring(30), ("next", "next", "e1"), ("e2", "skip", "next")]))
    sync = sync_of(store, tmp_path)
    sync.step()
    _, found = read(store)
    assert {(iri("next"), "entity"), (iri("next"), "relation")} <= found.keys()
    assert_shows(store, sync, 1)


@pytest.mark.parametrize(
    ("mode", "kills"),
    thinned([("versions", 5), ("rolling", 5), ("rolling", 2)], lambda case: case[1] == 2),
)
def test_kgsync_killed_while_it_publishes(
    new_oxigraph_server: Callable[..., Server], tmp_path: Path, mode: Mode, kills: int
) -> None:
    outcome = chase(new_oxigraph_server(), tmp_path, mode, "kgsync", kills)
    assert outcome.kills == kills
    assert outcome.answers > kills
    assert not outcome.wrong
    assert outcome.published


@pytest.mark.parametrize(
    "kind", thinned(["new_oxigraph_server", "new_virtuoso"], lambda kind: "oxigraph" in kind)
)
def test_a_server_killed_while_it_is_published_to(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    start = request.getfixturevalue(kind)
    server = start(tmp_path / "data") if kind == "new_oxigraph_server" else start()
    outcome = chase(server, tmp_path, "rolling", "server", 2)
    assert outcome.kills == 2
    assert outcome.answers > 2
    assert not outcome.wrong
    assert outcome.published


@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_the_metadata_of_literals_conforms(tmp_path: Path, mode: Mode) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path, literals=mode, keep=2)
    sync.catch_up()
    assert complaints(published(store)) == ""
    sync.rollback(3)
    assert complaints(published(store)) == ""
