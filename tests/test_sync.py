"""The whole line on real stores: what a step does, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
import rdflib

from kgsync import KGSync
from kgsync.config import (
    FilterSettings,
    ModelSettings,
    PublishSettings,
    RunSettings,
    SourceSettings,
    StateSettings,
)
from kgsync.errors import (
    ConfigError,
    LargeRemovalError,
    PermanentStoreError,
    SettingsChangedError,
    StateError,
    UnknownTermError,
    VersionError,
)
from tests.worlds import (
    EX,
    GRAPHS,
    answers,
    current_versions,
    disk_store,
    fill,
    iri,
    quads,
    quick_settings,
    versions,
)


def allow_all(sync: KGSync) -> KGSync:
    """The test world changes a lot; let it."""
    source = replace(sync.settings.source, max_removed=1.0)
    sync.settings = replace(sync.settings, source=source)
    return sync


@pytest.fixture
def store() -> ox.Store:
    return fill(ox.Store())


@pytest.fixture
def sync(store: ox.Store, tmp_path: Path) -> KGSync:
    return allow_all(KGSync(store, GRAPHS, state=tmp_path / "state", settings=quick_settings()))


@pytest.mark.parametrize("model", ["transe", "distmult"])
def test_catching_up_commits_every_version_in_order(
    store: ox.Store, tmp_path: Path, model: str
) -> None:
    settings = quick_settings(model)
    sync = allow_all(KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings))
    reports = sync.catch_up()
    assert [r.graph_version for r in reports] == [GRAPHS.format(version=v) for v in versions()]
    assert [r.version for r in reports] == [1, 2, 3, 4]
    assert [r.previous for r in reports] == [None, 1, 2, 3]
    assert [r.action for r in reports] == ["trained", "updated", "updated", "unchanged"]
    assert [r.behind for r in reports] == [3, 2, 1, 0]
    assert [r.way for r in reports] == ["scan"] * 4
    assert all(r.quality is not None for r in reports)
    assert not sync.step().changed
    assert sync.history()[1].change == reports[1].change


def test_the_report_counts_what_changed(sync: KGSync) -> None:
    sync.step()
    change = sync.step().change
    before, after = (set(versions()[v]) for v in ("1", "2"))
    entities = [{x for s, _, o in v for x in (s, o)} for v in (before, after)]
    assert change is not None
    assert sum(change.added_triples) == len(after - before)
    assert sum(change.deleted_triples) == len(before - after)
    assert change.added_entities == len(entities[1] - entities[0])
    assert change.deleted_entities == len(entities[0] - entities[1])
    assert (change.added_relations, change.deleted_relations) == (0, 0)


def test_the_report_says_what_was_learned_unless_that_is_switched_off(
    store: ox.Store, tmp_path: Path
) -> None:
    compared = allow_all(KGSync(store, GRAPHS, state=tmp_path / "on", settings=quick_settings()))
    _, report, *_ = compared.catch_up()
    assert report.learned is not None
    assert report.neighbors is not None
    groups = report.learned["groups"]
    assert report.change is not None
    assert groups["added"]["sampled_from"] == report.change.added_triples[0]
    assert groups["unseen"]["triples"] == report.triples["validation"] + report.triples["test"]
    assert report.learned["candidates"] == report.entities
    assert compared.history()[1].learned == report.learned

    settings = quick_settings()
    off = replace(settings.evaluation, learned_sample=0, neighbors_sample=0)
    settings = replace(settings, evaluation=off)
    plain = allow_all(KGSync(store, GRAPHS, state=tmp_path / "off", settings=settings))
    _, silent, *_ = plain.catch_up()
    assert (silent.learned, silent.neighbors) == (None, None)
    assert silent.rewritten == report.rewritten
    assert np.array_equal(plain.embedding(iri("new")), compared.embedding(iri("new")))


def test_a_version_identical_to_the_last_commits_without_training(sync: KGSync) -> None:
    sync.catch_up()
    third, fourth = (sync.state.version(number) for number in (3, 4))
    name = "embeddings/tensors.safetensors"
    tensors = [(folder.path / name).read_bytes()[-1000:] for folder in (third, fourth)]
    assert tensors[0] == tensors[1]
    assert sync.history()[3].epochs == 0


def test_plan_touches_nothing_and_foretells_the_step(sync: KGSync, store: ox.Store) -> None:
    quads_before = len(store)
    plan = sync.plan()
    assert not sync.state.path.exists()
    assert len(store) == quads_before
    report = sync.step()
    assert plan.graph_version == report.graph_version
    assert plan.change == report.change
    assert plan.behind == 4
    sync.catch_up()
    assert sync.plan().graph_version is None


def test_survivors_without_training_keep_their_vectors(store: ox.Store, tmp_path: Path) -> None:
    settings = quick_settings()
    no_epochs = replace(settings.update, change_epochs=0, general_epochs=0)
    settings = replace(settings, update=no_epochs)
    sync = allow_all(KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings))
    sync.step()
    before = sync.embedding(iri("e20"))
    sync.step()
    assert np.array_equal(sync.embedding(iri("e20")), before)


def test_a_deleted_entity_names_the_last_version_that_had_it(sync: KGSync) -> None:
    sync.step()
    assert sync.embedding(iri("e9")).shape == (8,)
    sync.step()
    with pytest.raises(UnknownTermError, match=r"was deleted.*last version that has it is 1"):
        sync.embedding(iri("e9"))
    with pytest.raises(KeyError):
        sync.embedding(iri("e9"))


def test_an_unknown_iri_is_answered_with_near_ones(sync: KGSync) -> None:
    sync.step()
    with pytest.raises(UnknownTermError, match=f"did you mean.*<{iri('e31')}>"):
        sync.neighbors(iri("e311"))


def test_reading_before_the_first_step_says_what_to_do(sync: KGSync) -> None:
    with pytest.raises(StateError, match="kgsync step"):
        sync.embedding(iri("e1"))


def test_neighbors_are_the_nearest_by_cosine(sync: KGSync) -> None:
    sync.step()
    own = sync.embedding(iri("e3"))
    cosine = {}
    for i in range(40):
        if i != 3:
            other = sync.embedding(iri(f"e{i}"))
            cosine[iri(f"e{i}")] = own @ other / np.linalg.norm(own) / np.linalg.norm(other)
    best = sorted(cosine, key=lambda name: -cosine[name])[:5]
    found = sync.neighbors(iri("e3"), k=5)
    assert [n.iri for n in found] == best
    assert found[0].similarity == pytest.approx(cosine[best[0]], abs=1e-6)


def test_predictions_follow_the_score_and_know_the_graph(sync: KGSync) -> None:
    sync.step()
    head, relation = sync.embedding(iri("e3")), sync.relation_embedding(iri("next"))
    found = sync.predict(head=iri("e3"), relation=iri("next"), k=40)
    scores = [-np.abs(head + relation - sync.embedding(p.iri)).sum() for p in found]
    assert [p.score for p in found] == pytest.approx(scores, abs=1e-5)
    assert scores == sorted(scores, reverse=True)
    assert {p.iri for p in found if p.known} == {iri("e4")}
    new = sync.predict(head=iri("e3"), relation=iri("next"), k=40, new_only=True)
    assert iri("e4") not in {p.iri for p in new}
    heads = sync.predict(tail=iri("e4"), relation=iri("next"), k=40)
    assert {p.iri for p in heads if p.known} == {iri("e3")}
    with pytest.raises(ConfigError, match="exactly one"):
        sync.predict(relation=iri("next"))


def test_sidecar_files_open_without_kgsync(sync: KGSync) -> None:
    report = sync.step()
    assert report.files is not None
    table = pq.read_table(Path(report.files) / "vectors.parquet")
    assert set(table.column_names) == {"iri", "kind", "vector", "trained"}
    assert table.num_rows == report.entities + report.relations
    row = table["iri"].to_pylist().index(iri("e3"))
    vector = np.array(table["vector"][row].as_py(), np.float32)
    assert np.array_equal(vector, sync.embedding(iri("e3")))
    trained = table.filter(pa.compute.invert(table["trained"]))
    assert trained.num_rows == report.untrained


def test_a_live_graph_is_followed_and_left_alone_when_unchanged(tmp_path: Path) -> None:
    dataset = rdflib.Dataset()
    graph = dataset.graph(rdflib.URIRef(EX + "live"))
    for s, p, o in versions()["1"]:
        graph.add((rdflib.URIRef(iri(s)), rdflib.URIRef(iri(p)), rdflib.URIRef(iri(o))))
    sync = KGSync(dataset, state=tmp_path / "state", settings=quick_settings())
    assert sync.step().action == "trained"
    assert not sync.step().changed
    assert sync.plan().graph_version is None
    assert [r.version for r in sync.catch_up()] == []
    graph.add((rdflib.URIRef(iri("e1")), rdflib.URIRef(iri("next")), rdflib.URIRef(iri("fresh"))))
    report = sync.step()
    assert report.action == "updated"
    assert report.change is not None
    assert report.change.added_entities == 1
    assert len(sync.history()) == 2


def test_a_plain_rdflib_graph_publishes_into_the_state(tmp_path: Path) -> None:
    graph = rdflib.Graph()
    for s, p, o in versions()["1"]:
        graph.add((rdflib.URIRef(iri(s)), rdflib.URIRef(iri(p)), rdflib.URIRef(iri(o))))
    size = len(graph)
    sync = KGSync(graph, state=tmp_path / "state", settings=quick_settings())
    sync.step()
    assert len(graph) == size
    own = ox.Store(str(tmp_path / "state" / "metadata.oxigraph"))
    assert [g.value for g in own.named_graphs()] == ["urn:kgsync:state"]


def test_published_metadata_is_never_read_back_through_a_union(tmp_path: Path) -> None:
    dataset = rdflib.Dataset(default_union=True)
    for s, p, o in versions()["1"]:
        dataset.add((rdflib.URIRef(iri(s)), rdflib.URIRef(iri(p)), rdflib.URIRef(iri(o))))
    sync = KGSync(dataset, "default", state=tmp_path / "state", settings=quick_settings())
    first = sync.step()
    assert len(list(dataset.graphs())) > 1
    assert not sync.step().changed
    assert first.relations == 3


def test_metadata_describes_every_version_and_its_head(sync: KGSync, store: ox.Store) -> None:
    reports = sync.catch_up()
    assert current_versions(store) == ["4"]
    history = answers(store, "version_history")
    assert [row["version"].value for row in history] == ["1", "2", "3", "4"]
    for row, report in zip(history, reports, strict=True):
        assert row["source"].value == report.graph_version
        assert int(row["entities"].value) == report.entities
    for row, report in zip(answers(store, "quality_history"), reports, strict=True):
        assert report.quality is not None
        assert float(row["mrr"].value) == pytest.approx(report.quality["mrr"])


def test_retention_keeps_files_of_the_last_versions_and_all_of_the_history(
    store: ox.Store, tmp_path: Path
) -> None:
    settings = replace(quick_settings(), state=StateSettings(keep=2))
    sync = allow_all(KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings))
    sync.catch_up()
    assert sync.status().retained == (3, 4)
    assert [r.version for r in sync.history()] == [1, 2, 3, 4]
    distribution = ox.NamedNode("http://www.w3.org/ns/dcat#distribution")
    named = {q.subject.value for q in store.quads_for_pattern(None, distribution, None, None)}  # type: ignore[union-attr]
    assert named == {"urn:kgsync:state#v3", "urn:kgsync:state#v4"}


def test_a_changed_setting_is_refused_until_rebuild(sync: KGSync) -> None:
    sync.step()
    e3 = sync.state.version(1).manifest
    sync.settings = replace(sync.settings, model=ModelSettings("transe", dimension=16))
    with pytest.raises(
        SettingsChangedError, match=r"model\.dimension was 8, is 16.*kgsync rebuild"
    ):
        sync.step()
    report = sync.rebuild()
    assert (report.action, report.version, report.previous) == ("rebuilt", 2, 1)
    assert report.graph_version == GRAPHS.format(version="11")
    assert sync.embedding(iri("e3")).shape == (16,)
    assert e3.version == 1
    assert not sync.step().changed


def test_a_rebuild_is_compared_with_the_version_that_it_replaces(sync: KGSync) -> None:
    sync.step()
    newer = sync.rebuild().change  # of graph 11, after graph 1
    assert newer is not None
    assert (newer.added_relations, newer.deleted_relations) == (1, 1)
    assert 0 < sum(newer.added_triples) < sum(newer.deleted_triples)
    for aligned in (False, True):
        again = sync.rebuild(aligned=aligned).change
        assert again is not None
        assert sum(again.added_triples) + sum(again.deleted_triples) == 0
        assert again.added_entities + again.deleted_entities == 0
        assert sync.history()[-1].change == again


def test_rebuild_keeps_the_ids_of_terms(sync: KGSync) -> None:
    from kgsync.state.committed import CommittedVersion

    sync.step()
    sync.settings = replace(sync.settings, split=replace(sync.settings.split, key="other"))
    sync.rebuild()
    old, new = (CommittedVersion(sync.state.version(n)).graph.terms for n in (1, 2))
    assert new.entities.iris[: len(old.entities)].equals(old.entities.iris)
    assert len(new.entities) > len(old.entities)
    with pytest.raises(UnknownTermError, match="last version that has it is 1"):
        sync.embedding(iri("e9"))


def test_a_large_removal_stops_until_it_is_allowed(sync: KGSync, store: ox.Store) -> None:
    sync.settings = replace(sync.settings, source=replace(sync.settings.source, max_removed=0.05))
    sync.step()
    with pytest.raises(LargeRemovalError, match="--allow-large-removal"):
        sync.step()
    assert sync.status().version == 1
    assert sync.step(allow_large_removal=True).version == 2


def test_start_chooses_the_first_version(store: ox.Store, tmp_path: Path) -> None:
    for start, expected in (("latest", "11"), (GRAPHS.format(version="2"), "2")):
        settings = replace(quick_settings(), source=SourceSettings(start=start))
        sync = KGSync(store, GRAPHS, state=tmp_path / expected, settings=settings)
        sync.settings = replace(sync.settings, publish=PublishSettings(metadata=False))
        assert sync.step().graph_version == GRAPHS.format(version=expected)


def test_an_empty_version_and_one_of_literals_are_refused(tmp_path: Path) -> None:
    store = ox.Store()
    graph = ox.NamedNode(GRAPHS.format(version="1"))
    store.add(ox.Quad(ox.NamedNode(iri("a")), ox.NamedNode(iri("p")), ox.Literal("x"), graph))
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=quick_settings())
    with pytest.raises(VersionError, match=r"no edges between IRIs \(1 triples in all\)"):
        sync.step()
    assert sync.status().version is None


def test_filters_and_scope_choose_what_is_embedded(store: ox.Store, tmp_path: Path) -> None:
    settings = replace(quick_settings(), filter=FilterSettings(exclude=(iri("back"),)))
    excluded = KGSync(store, GRAPHS, state=tmp_path / "a", settings=settings).step()
    assert excluded.relations == 2
    assert excluded.skipped["excluded_predicates"] == 40
    scope = tmp_path / "scope.rq"
    scope.write_text(
        f"PREFIX ex: <{EX}>\nSELECT ?s ?p ?o WHERE {{ GRAPH $graph {{ ?s ?p ?o }} "
        "FILTER(?p != ex:back) } # no way back"
    )
    settings = replace(quick_settings(), source=SourceSettings(scope=str(scope), max_removed=1))
    settings = replace(settings, publish=PublishSettings(graph="urn:scoped"))
    scoped = KGSync(store, GRAPHS, state=tmp_path / "b", settings=settings)
    reports = scoped.catch_up()
    assert [r.relations for r in reports] == [2, 2, 3, 3]
    assert reports[0].skipped["excluded_predicates"] == 0
    assert reports[1].way == "scan"


def test_adopted_vectors_do_not_move_and_are_updated_from_there(
    store: ox.Store, tmp_path: Path
) -> None:
    names = [iri(f"e{i}") for i in range(38)] + [iri("nowhere")]
    relations = [iri(name) for name in ("next", "skip", "back")]
    random = np.random.default_rng(0)
    vectors = {name: random.normal(size=8).astype(np.float32) for name in names + relations}
    kinds = ["entity"] * len(names) + ["relation"] * len(relations)
    rows = {"iri": list(vectors), "kind": kinds, "vector": [v.tolist() for v in vectors.values()]}
    pq.write_table(pa.table(rows), tmp_path / "vectors.parquet")
    sync = allow_all(KGSync(store, GRAPHS, state=tmp_path / "state", settings=quick_settings()))
    report = sync.adopt(tmp_path / "vectors.parquet")
    assert (report.action, report.epochs) == ("adopted", 0)
    assert report.adopted == {"adopted": 41, "without_vector": 2, "unused_vectors": 1}
    for name in names[:38]:
        assert np.array_equal(sync.embedding(name), vectors[name])
    assert np.array_equal(sync.relation_embedding(iri("next")), vectors[iri("next")])
    assert sync.step().action == "updated"
    with pytest.raises(StateError, match="already has versions"):
        sync.adopt(tmp_path / "vectors.parquet")


def test_someone_elses_graph_is_never_written_into(sync: KGSync, store: ox.Store) -> None:
    other = ox.NamedNode("urn:kgsync:state")
    mine = ox.Quad(ox.NamedNode(iri("a")), ox.NamedNode(iri("p")), ox.NamedNode(iri("b")), other)
    store.add(mine)
    with pytest.raises(PermanentStoreError, match=r"did not write.*publish\.graph"):
        sync.step()
    assert list(store.quads_for_pattern(None, None, None, other)) == [mine]
    assert sync.status().version is None


def test_another_syncs_metadata_is_an_error(store: ox.Store, tmp_path: Path) -> None:
    one, two = (
        KGSync(store, GRAPHS, state=tmp_path / folder / "state", settings=quick_settings())
        for folder in ("one", "two")
    )
    one.step()
    with pytest.raises(PermanentStoreError, match="belongs to another sync"):
        two.step()


def test_a_store_that_lost_the_metadata_gets_it_back_without_training(tmp_path: Path) -> None:
    path = disk_store(tmp_path / "kg", ["1"])
    sync = KGSync(path, GRAPHS, state=tmp_path / "state", settings=quick_settings())
    sync.step()
    store = ox.Store(str(path))
    store.remove_graph(ox.NamedNode("urn:kgsync:state"))
    store.flush()
    del store
    report = sync.step()
    assert not report.changed
    assert len(current_versions(ox.Store(str(path)))) == 1


def test_same_seed_same_vectors_other_seed_others(store: ox.Store, tmp_path: Path) -> None:
    vectors = []
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        settings = replace(quick_settings(), run=RunSettings(seed=seed, threads=1))
        settings = replace(settings, publish=PublishSettings(metadata=False))
        sync = allow_all(KGSync(store, GRAPHS, state=tmp_path / folder, settings=settings))
        sync.step()
        sync.step()
        vectors.append(sync.embedding(iri("e5")))
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[0], vectors[2])


def test_an_in_memory_store_must_name_its_state(store: ox.Store) -> None:
    with pytest.raises(ConfigError, match="state"):
        KGSync(store, GRAPHS)


def test_a_half_loaded_version_that_grows_is_caught_by_the_next_difference(
    sync: KGSync, store: ox.Store
) -> None:
    sync.step()
    store.extend(quads("1", [("late", "next", "e1")]))
    report = sync.step()
    assert report.way == "scan"
    with pytest.raises(UnknownTermError):
        sync.embedding(iri("late"))


def test_an_emptied_version_is_named_when_it_is_passed_over(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "10"])
    names = [ox.NamedNode(GRAPHS.format(version=name)) for name in ("1", "2", "10")]
    previous = ox.NamedNode("http://www.w3.org/ns/dcat#previousVersion")
    store.extend(ox.Quad(later, previous, earlier) for earlier, later in pairwise(names))
    settings = replace(quick_settings(), source=SourceSettings(max_removed=1.0))
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings)
    assert sync.step().warnings == ()
    assert sync.plan().empty == (names[1].value,)
    report = sync.step()
    assert report.graph_version == names[2].value
    assert report.warnings == (
        f"<{names[1].value}> is in the catalogue, but empty: it was skipped",
    )
