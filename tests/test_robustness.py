"""What must not be lost, leaked or done twice, each found the hard way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
import rdflib

from kgsync import KGSync, open_store
from kgsync.cli.commands.init import removing_new_state
from kgsync.config import FilterSettings, PublishSettings, RunSettings, StateSettings
from kgsync.errors import (
    ConfigError,
    LargeRemovalError,
    PermanentStoreError,
    StateCorruptedError,
    StateError,
    StateLockedError,
    StateWriteError,
)
from kgsync.graph.stores import store_label, store_name
from kgsync.state.directory import State
from kgsync.state.report import StepReport
from kgsync.state.sidecar import load_vectors
from kgsync.state.transaction import Transaction
from tests.processes import kgsync
from tests.worlds import (
    GRAPHS,
    answers,
    current_versions,
    disk_store,
    fill,
    iri,
    quads,
    quick_settings,
)


def sync_of(store: object, state: Path, **publish: object) -> KGSync:
    settings = replace(quick_settings(), publish=PublishSettings(**publish))  # type: ignore[arg-type]
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings)


def test_a_store_passed_in_stays_open(tmp_path: Path) -> None:
    store = open_store(disk_store(tmp_path / "kg", ["1", "2"]))
    sync = sync_of(store, tmp_path / "state")
    assert [report.version for report in sync.catch_up()] == [1, 2]
    assert len(store.graphs()) == 3
    store.close()


def test_files_go_only_after_the_store_stopped_naming_them(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    sync.settings = replace(sync.settings, state=StateSettings(keep=1))
    sync.step()

    def broken(numbers: object) -> None:
        raise OSError("killed here")

    sync.state.drop_files = broken  # type: ignore[method-assign]
    report = sync.step()
    assert "committed, but publishing is incomplete" in report.warnings[0]
    distribution = ox.NamedNode("http://www.w3.org/ns/dcat#distribution")
    named = {str(q.subject) for q in store.quads_for_pattern(None, distribution, None, None)}
    assert named == {"<urn:kgsync:state#v2>"}
    assert sync.status().retained == (1, 2)
    again = sync_of(store, tmp_path / "state")
    again.settings = sync.settings
    again.step()
    assert again.status().retained == (3,)


def test_an_interrupted_removal_of_files_is_finished_later(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.settings = replace(sync.settings, state=StateSettings(keep=1))
    sync.step()
    for file in (tmp_path / "state" / "000001" / "graph").iterdir():
        saved = file.read_bytes()
        file.unlink()
        file.write_bytes(saved)
    sync.step()
    assert not (tmp_path / "state" / "000001" / "embeddings").exists()
    assert (tmp_path / "state" / "000001" / "manifest.json").exists()


def test_damage_to_an_old_version_does_not_fail_a_later_step(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    sync.step()
    (tmp_path / "state" / "000001" / "manifest.json").write_text("{}")
    assert sync.step().version == 3


@pytest.mark.parametrize(
    "name", ["manifest.json", "graph/edges.safetensors", "graph/terms.parquet"]
)
def test_rebuild_works_where_damage_calls_for_it(tmp_path: Path, name: str) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    sync.step()
    (tmp_path / "state" / "000001" / name).write_bytes(b"garbage")
    fresh = sync_of(store, tmp_path / "state")
    report = fresh.rebuild()
    assert (report.action, report.version) == ("rebuilt", 2)
    assert "set aside" in report.warnings[0]
    assert fresh.embedding(iri("e3")).shape == (8,)
    assert (tmp_path / "state" / "damaged-000001").is_dir()
    assert not fresh.step().changed


def test_publishing_is_checked_before_any_training(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    phases: list[str] = []

    class Listener:
        def phase(self, name: str) -> None:
            phases.append(name)

        def progress(self, name: str, done: int, total: int) -> None:
            pass

    settings = replace(quick_settings(), publish=PublishSettings(graph="no iri"))
    sync = KGSync(store, GRAPHS, state=tmp_path / "s", settings=settings, listener=Listener())
    with pytest.raises(ConfigError, match="not an absolute IRI"):
        sync.step()
    assert "train" not in phases
    assert sync_of(store, tmp_path / "my state").step().version == 1


def test_a_publish_target_of_its_own(tmp_path: Path) -> None:
    path = disk_store(tmp_path / "kg", ["1"])
    sync = sync_of(path, tmp_path / "state", target=str(tmp_path / "metadata"))
    sync.step()
    assert len(current_versions(ox.Store(str(tmp_path / "metadata")))) == 1
    assert current_versions(ox.Store(str(path))) == []


def test_a_publish_target_that_is_the_source(tmp_path: Path) -> None:
    path = disk_store(tmp_path / "kg", ["1"])
    sync = sync_of(path, tmp_path / "state", target=str(tmp_path / "." / "kg"))
    sync.step()
    assert len(current_versions(ox.Store(str(path)))) == 1


def test_a_target_in_the_way_is_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a store")
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", target=str(tmp_path / "file"))
    with pytest.raises(PermanentStoreError, match="file"):
        sync.step()
    assert sync.status().version is None


def test_many_processes_give_a_new_state_one_identity(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from kgsync.state.directory import State\n"
        "from kgsync.errors import StateLockedError\n"
        "state = State(Path(sys.argv[1]))\n"
        "while True:\n"
        "    try:\n"
        "        with state.lock(): print(state.uuid); break\n"
        "    except StateLockedError: pass\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "state")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert len({child.communicate()[0] for child in children}) == 1
    assert all(child.returncode == 0 for child in children)


def test_a_state_half_made_is_made_whole(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    with state.lock():
        pass
    (tmp_path / "state" / "state.json").unlink()
    assert not State(tmp_path / "state").exists
    assert sync_of(fill(ox.Store(), ["1"]), tmp_path / "state").step().version == 1


def test_history_in_the_store_lists_committed_versions_only(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state")
    sync.step()

    def refuse(number: int) -> None:
        raise StateError("killed here")

    sync.state.commit = refuse  # type: ignore[method-assign]
    with pytest.raises(StateError, match="killed here"):
        sync.step()
    assert [row["version"].value for row in answers(store, "version_history")] == ["1"]


def test_a_store_that_cannot_be_written_is_read_and_described_in_the_state(
    small_disk: Path, tmp_path: Path
) -> None:
    path = disk_store(small_disk / "kg", ["1", "2"])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    sync = sync_of(path, tmp_path / "state")
    assert [report.version for report in sync.catch_up()] == [1, 2]
    own = ox.Store(str(tmp_path / "state" / "metadata.oxigraph"))
    assert len(current_versions(own)) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"iri": ["http://x/a"], "kind": ["entity"], "vector": [None]}, "without an IRI"),
        ({"iri": ["http://x/a"], "kind": ["thing"], "vector": [[1.0]]}, "thing"),
        (
            {
                "iri": ["http://x/a", "http://x/b"],
                "kind": ["entity"] * 2,
                "vector": [[1.0], [1.0, 2.0]],
            },
            "differ in length",
        ),
        (
            {
                "iri": ["http://x/a", "http://x/a", "http://x/r"],
                "kind": ["entity", "entity", "relation"],
                "vector": [[1.0]] * 3,
            },
            "twice",
        ),
    ],
)
def test_vectors_that_cannot_be_adopted_are_refused(
    tmp_path: Path, rows: dict[str, list[object]], message: str
) -> None:
    pq.write_table(pa.table(rows), tmp_path / "v.parquet")
    with pytest.raises(ConfigError, match=message):
        load_vectors(tmp_path / "v.parquet")


def test_credentials_never_show() -> None:
    url = "http://user:secret@host:99/sparql"
    assert store_label(url) == "http://host:99/sparql"
    assert "secret" not in store_name(url)


def test_what_a_killed_adoption_leaves_can_be_adopted_again(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1"])
    rows = {
        "iri": ["http://elsewhere/a", "http://elsewhere/r"],
        "kind": ["entity", "relation"],
        "vector": [[1.0, 2.0], [3.0, 4.0]],
    }
    pq.write_table(pa.table(rows), tmp_path / "mine.parquet")
    done = kgsync(tmp_path, "init", "kg", "--from", "mine.parquet", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == "ConfigError"
    assert not (tmp_path / "kgsync.toml").exists()


def test_what_a_failed_adoption_has_published_can_be_replaced_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(ox.Store(), ["1"])
    rows = {
        "iri": [iri("e1"), iri("next")],
        "kind": ["entity", "relation"],
        "vector": [[1.0] * 8, [2.0] * 8],
    }
    pq.write_table(pa.table(rows), tmp_path / "mine.parquet")

    def full(*_: object) -> None:
        raise StateWriteError("the disk is full")

    def adopted() -> StepReport:
        sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=quick_settings())
        with removing_new_state(sync.state):
            return sync.adopt(tmp_path / "mine.parquet")

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "commit", full)  # described in the store already
        with pytest.raises(StateWriteError, match="disk is full"):
            adopted()
    assert adopted().version == 1
    assert current_versions(store) == ["1"]


def test_a_failed_adoption_leaves_the_state_of_another_process_alone(tmp_path: Path) -> None:
    state = State(tmp_path / "state")

    def refused() -> None:
        with State(state.path).lock():  # by another process
            state.path.joinpath("looks.json").write_text("{}")
            raise StateLockedError("another process is working on it")

    with pytest.raises(StateLockedError), removing_new_state(state):
        refused()
    assert (state.path / "looks.json").exists()


def test_iris_are_printed_as_they_are(tmp_path: Path) -> None:
    store = ox.Store(str(tmp_path / "kg"))
    graph = ox.NamedNode("urn:g:1")
    for i in range(30):
        s, o = ox.NamedNode(f"urn:book:{i}"), ox.NamedNode(f"urn:x:{(i * 7) % 30}")
        store.add(ox.Quad(s, ox.NamedNode("urn:p:b"), o, graph))
    store.flush()
    del store
    config = "[source]\nstore='kg'\n[training]\nepochs=2\n[model]\ndimension=4"
    (tmp_path / "kgsync.toml").write_text(config)
    assert kgsync(tmp_path, "step").returncode == 0
    shown = kgsync(tmp_path, "neighbors", "urn:book:0", "-k", "50")
    assert shown.returncode == 0
    assert "urn:book:1 " in shown.stdout
    assert "urn:x:1 " in shown.stdout


def test_two_stores_never_share_a_state(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        disk_store(tmp_path / folder / "graph.oxigraph", ["1"])
    sync_of(tmp_path / "a" / "graph.oxigraph", tmp_path / "state").step()
    other = sync_of(tmp_path / "b" / "graph.oxigraph", tmp_path / "state")
    with pytest.raises(StateError, match=r"belongs to the store .*a/graph\.oxigraph"):
        other.step()
    assert current_versions(ox.Store(str(tmp_path / "b" / "graph.oxigraph"))) == []


def test_a_project_may_be_moved_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    disk_store(tmp_path / "here" / "kg", ["1", "2"])
    sync_of(tmp_path / "here" / "kg", tmp_path / "here" / "state").step()
    (tmp_path / "here").rename(tmp_path / "there")
    assert sync_of(tmp_path / "there" / "kg", tmp_path / "there" / "state").step().version == 2


def test_the_guard_against_removals_looks_at_embedded_edges(tmp_path: Path) -> None:
    store = ox.Store()
    for version, small, big in (("1", 50, 400), ("2", 50, 10), ("3", 5, 10)):
        edges = [(f"a{i}", "small", f"b{i}") for i in range(small)]
        store.extend(quads(version, edges + [(f"c{i}", "big", f"d{i}") for i in range(big)]))
    settings = replace(quick_settings(), filter=FilterSettings(include=(iri("small"),)))
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings)
    sync.step()
    assert sync.step().action == "unchanged"
    with pytest.raises(LargeRemovalError, match="90%"):
        sync.step()


def test_a_late_version_is_named_and_not_taken(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "10"])
    sync = sync_of(store, tmp_path / "state")
    sync.catch_up()
    assert sync.plan().passed_over == ()
    fill(store, ["2"])
    late = GRAPHS.format(version="2")
    assert sync.plan().passed_over == (late,)
    assert late in sync.step().warnings[0]


def test_a_lost_metadata_graph_comes_back_with_the_whole_history(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path / "state")
    sync.settings = replace(sync.settings, state=StateSettings(keep=1))
    sync.catch_up()
    before = answers(store, "version_history")
    store.remove_graph(ox.NamedNode("urn:kgsync:state"))
    sync.step()
    after = answers(store, "version_history")
    assert [row["version"] for row in after] == [row["version"] for row in before]
    distribution = ox.NamedNode("http://www.w3.org/ns/dcat#distribution")
    named = {str(q.subject) for q in store.quads_for_pattern(None, distribution, None, None)}
    assert named == {"<urn:kgsync:state#v4>"}


def test_a_read_only_store_object_is_not_written(tmp_path: Path) -> None:
    path = disk_store(tmp_path / "kg", ["1"])
    sync = sync_of(ox.Store.read_only(str(path)), tmp_path / "state")
    assert sync.step().version == 1
    assert (tmp_path / "state" / "metadata.oxigraph").is_dir()


def test_vectors_are_read_anew_after_the_state_was_replaced(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state", metadata=False)
    sync.step()
    first = sync.embedding(iri("e3"))
    shutil.rmtree(tmp_path / "state")
    other = sync_of(store, tmp_path / "state", metadata=False)
    other.settings = replace(other.settings, run=RunSettings(seed=5))
    other.step()
    assert not np.array_equal(sync.embedding(iri("e3")), first)
    assert np.array_equal(sync.embedding(iri("e3")), other.embedding(iri("e3")))


@pytest.mark.parametrize("content", ["{}", '{"version": "x", "highest": null}', "[]"])
def test_a_pointer_that_makes_no_sense_is_damage(tmp_path: Path, content: str) -> None:
    store = fill(ox.Store(), ["1"])
    sync_of(store, tmp_path / "state").step()
    (tmp_path / "state" / "CURRENT").write_text(content)
    with pytest.raises(StateCorruptedError, match="CURRENT"):
        sync_of(store, tmp_path / "state").step()


def test_a_damaged_store_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = disk_store(tmp_path / "kg", ["1"])
    for file in [*path.glob("MANIFEST*"), *path.glob("*.sst")]:
        file.write_bytes(b"garbage")
    with pytest.raises(PermanentStoreError, match="kg"):
        sync_of(path, tmp_path / "state").step()


def test_a_conjunctive_graph_is_refused(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="ConjunctiveGraph"):
        graph = rdflib.ConjunctiveGraph()
    with pytest.raises(ConfigError, match=r"use rdflib\.Dataset"):
        sync_of(graph, tmp_path / "state").step()


def test_a_scope_that_is_no_text_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "scope.rq").write_bytes(b"\xff\xfe")
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state")
    source = replace(sync.settings.source, scope=str(tmp_path / "scope.rq"))
    sync.settings = replace(sync.settings, source=source)
    with pytest.raises(ConfigError, match=r"scope\.rq"):
        sync.step()


def test_unicode_iris_print_on_an_ascii_terminal(tmp_path: Path) -> None:
    store = ox.Store(str(tmp_path / "kg"))
    for i in range(20):
        s, o = ox.NamedNode(f"urn:é:{i}"), ox.NamedNode(f"urn:é:{(i * 3 + 1) % 20}")
        store.add(ox.Quad(s, ox.NamedNode("urn:p"), o, ox.NamedNode("urn:g")))
    store.flush()
    del store
    config = "[source]\nstore='kg'\n[training]\nepochs=2\n[model]\ndimension=4"
    (tmp_path / "kgsync.toml").write_text(config)
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for arguments in (["step"], ["neighbors", "urn:é:3"], ["neighbors", "urn:é:3", "--json"]):
        command = [sys.executable, "-m", "kgsync", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=plain, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_step_all_shows_what_it_committed_before_an_error(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1", "2"])
    config = (
        f"[source]\nstore='kg'\ngraphs='{GRAPHS}'\nmax_removed=0.01\n"
        "[training]\nepochs=2\n[model]\ndimension=4"
    )
    (tmp_path / "kgsync.toml").write_text(config)
    done = kgsync(tmp_path, "step", "--all", "--json")
    assert done.returncode == 6
    document = json.loads(done.stdout)
    assert document["error"] == "LargeRemovalError"
    assert [report["version"] for report in document["committed"]] == [1]
