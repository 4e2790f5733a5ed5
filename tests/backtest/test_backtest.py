"""A backtest over a small history: what it compares, keeps, and goes on with."""

from __future__ import annotations

import csv
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from kgsync.backtest.methods import DEFAULT_METHODS
from kgsync.backtest.record import Record
from kgsync.backtest.records import RecordFolder
from kgsync.backtest.run import backtest
from kgsync.config import Settings, SourceSettings
from kgsync.errors import ConfigError, StateCorruptedError, StateLockedError
from kgsync.models import MODELS
from tests.processes import python
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, fill, iri, quads, quick_settings


def settings(model: str = "transe", seed: int = 0) -> Settings:
    """Quick settings that name the graphs."""
    return replace(quick_settings(model, seed), source=SourceSettings(graphs=GRAPHS))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RecordFolder:
    """A backtest of two models over all versions."""
    out = tmp_path_factory.mktemp("backtest") / "out"
    return backtest(fill(ox.Store()), settings(), out, models=["transe", "distmult"])


def find(folder: RecordFolder, model: str, method: str, version: int) -> Record:
    (found,) = (
        record
        for record in folder.records()
        if (record.model, record.method, record.version) == (model, method, version)
    )
    return found


def test_every_model_has_every_method_at_every_version(result: RecordFolder) -> None:
    keys = {(r.model, r.version, r.method) for r in result.records()}
    models = ("transe", "distmult")
    later = {
        (model, n, method) for model in models for n in (1, 2, 3) for method in DEFAULT_METHODS
    }
    assert keys == later | {(model, 0, "train") for model in models}


def test_records_name_the_versions_and_count_the_change(result: RecordFolder) -> None:
    first, second = find(result, "transe", "train", 0), find(result, "transe", "update", 1)
    assert first.graph_version == GRAPHS.format(version="1")
    assert second.graph_version == GRAPHS.format(version="2")
    assert first.triples + second.added - second.deleted == second.triples
    assert (first.added, first.deleted) == (first.triples, 0)


def test_what_is_left_alone_neither_moves_nor_costs(result: RecordFolder) -> None:
    left = find(result, "transe", "frozen", 1)
    assert (left.nmc_entities, left.nmc_relations) == (0.0, 0.0)
    assert (left.epochs, left.score_evaluations, left.gradient_steps) == (0, 0, 0)


def test_an_update_moves_less_than_retraining(result: RecordFolder) -> None:
    for model in ("transe", "distmult"):
        updated = find(result, model, "update", 1)
        again = find(result, model, "scratch", 1)
        assert updated.nmc_entities is not None
        assert again.nmc_entities is not None
        assert 0 < updated.nmc_entities < again.nmc_entities


def test_an_unchanged_version_leaves_an_updated_model_alone(result: RecordFolder) -> None:
    same = find(result, "transe", "update", 3)
    assert (same.added, same.deleted, same.epochs) == (0, 0, 0)
    assert same.nmc_entities == 0.0
    assert same.mrr == pytest.approx(find(result, "transe", "update", 2).mrr)


def test_training_is_watched_at_every_validation(result: RecordFolder) -> None:
    moments = find(result, "transe", "train", 0).moments
    assert [moment.epoch for moment in moments] == [10, 20]
    assert moments[0].nmc_entities is None
    assert moments[1].nmc_entities is not None
    assert moments[1].nmc_entities > 0
    assert 0 < moments[0].seconds < moments[1].seconds


def test_results_are_exported_alike_in_three_formats(result: RecordFolder) -> None:
    table = pq.read_table(result.path / "results.parquet").to_pylist()
    assert table == json.loads((result.path / "results.json").read_text())
    with (result.path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == [row["method"] for row in table]
    assert [float(row["mrr"]) for row in rows] == pytest.approx([row["mrr"] for row in table])


@pytest.mark.parametrize("model", thinned(sorted(MODELS), lambda name: name == "rotate"))
def test_every_model_goes_through_a_backtest(model: str, tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    folder = backtest(store, settings(model), tmp_path / "out")
    assert {record.model for record in folder.records()} == {model}
    assert all(record.mrr is not None for record in folder.records())


def test_done_again_nothing_is_done(result: RecordFolder) -> None:
    before = {path: path.stat().st_mtime_ns for path in result.path.glob("*/*-*.json")}
    listener = _Listener()
    backtest(
        fill(ox.Store()),
        settings(),
        result.path,
        models=["transe", "distmult"],
        listener=listener,
    )
    assert listener.phases == []
    assert before == {path: path.stat().st_mtime_ns for path in result.path.glob("*/*-*.json")}


class _Listener:
    def __init__(self) -> None:
        self.phases: list[str] = []

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def progress(self, name: str, done: int, total: int) -> None:
        pass


KILLED = """
import os, signal, sys
from pathlib import Path
from kgsync.backtest.run import backtest
from tests.backtest.test_backtest import settings

class Killer:
    def phase(self, name):
        if name == "transe, version 2: frozen":
            os.kill(os.getpid(), signal.SIGKILL)
    def progress(self, name, done, total):
        pass

backtest(sys.argv[1], settings(), Path(sys.argv[2]), listener=Killer())
"""


def test_a_killed_backtest_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg")
    assert python(KILLED, str(store), str(tmp_path / "killed")) == -signal.SIGKILL
    finished = len(RecordFolder(tmp_path / "killed").records())
    assert finished == 5
    again = backtest(store, settings(), tmp_path / "killed")
    quiet = backtest(store, settings(), tmp_path / "quiet")
    assert _timeless(again.records()) == _timeless(quiet.records())


def _timeless(records: list[Record]) -> list[Record]:
    return [replace(record, seconds=0.0, cpu_seconds=0.0, phases={}) for record in records]


def test_more_versions_models_and_methods_can_be_added_later(tmp_path: Path) -> None:
    store, out = fill(ox.Store()), tmp_path / "out"
    backtest(store, settings(), out, methods=["update"], last=1)
    folder = backtest(store, settings(), out, models=["transe", "transh"], last=2)
    assert len(folder.records()) == 2 * (1 + 2 * 3)


def test_a_folder_of_other_settings_is_refused(result: RecordFolder) -> None:
    with pytest.raises(ConfigError, match=r"other settings \(seed was 0, is 1\)"):
        backtest(fill(ox.Store()), settings(seed=1), result.path)


def test_results_recorded_under_former_names_of_settings_are_continued(tmp_path: Path) -> None:
    store, out = fill(ox.Store()), tmp_path / "out"
    backtest(store, settings(), out, methods=["frozen"], last=1)
    recipe = out / "transe" / "recipe.json"
    text = recipe.read_text(encoding="utf-8")
    for new, old in (
        ("negative_sampling", "corruption"),
        ("initial_vectors", "start_vectors"),
        ("initial_negatives", "start_negatives"),
    ):
        assert f'"{new}"' in text
        text = text.replace(f'"{new}"', f'"{old}"')
    recipe.write_text(text, encoding="utf-8")
    folder = backtest(store, settings(), out, methods=["frozen"], last=2)
    assert [record.version for record in folder.records()] == [0, 1, 2]
    sampled = replace(settings().training, negative_sampling="bernoulli")
    other = replace(settings(), training=sampled)
    with pytest.raises(ConfigError, match=r'training\.negative_sampling was "uniform", is "bern'):
        backtest(store, other, out, methods=["frozen"], last=2)


def test_models_that_see_other_edges_are_not_put_beside_each_other(result: RecordFolder) -> None:
    other = replace(settings(), split=replace(settings().split, key="another"))
    with pytest.raises(ConfigError, match=r'split\.key was ".*", is "another"'):
        backtest(fill(ox.Store()), other, result.path, models=["distmult"])
    with pytest.raises(ConfigError, match=r"other settings \(first was 0, is 1\)"):
        backtest(fill(ox.Store()), settings(), result.path, models=["distmult"], first=1)


def test_a_refused_backtest_leaves_no_mark(tmp_path: Path) -> None:
    store, out = fill(ox.Store(), ["1", "2", "10"]), tmp_path / "out"
    first = backtest(store, settings(), out, methods=["frozen"], last=1).records()
    with pytest.raises(ConfigError, match="other settings"):
        backtest(store, settings(), out, models=["distmult"], methods=["frozen"], first=1)
    other = fill(ox.Store(), ["2", "10"])
    shorter = replace(settings(), training=replace(settings().training, epochs=1))
    with pytest.raises(ConfigError, match="version 0 was"):
        backtest(other, shorter, out, models=["transh"], methods=["frozen"])
    later = backtest(store, settings(), out, models=["distmult", "transh"], last=1)
    assert {r.model for r in later.records()} == {"transe", "distmult", "transh"}
    assert [r for r in later.records() if r.model == "transe"] == first


def test_a_backtest_inside_the_folder_of_another_is_not_part_of_it(tmp_path: Path) -> None:
    store, out = fill(ox.Store(), ["1", "2"]), tmp_path / "out"
    outer = backtest(store, settings(), out, methods=["frozen"])
    backtest(store, settings(seed=1), out / "inner", methods=["frozen"])
    assert len(outer.records()) == 2
    assert len(backtest(store, settings(), out, methods=["frozen"]).records()) == 2


def test_a_version_that_nothing_has_come_of_may_still_change(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "out")
    folder.follow(0, "http://kg/1", "half loaded")
    folder.follow(0, "http://kg/1", "whole")
    assert json.loads((folder.path / "history.json").read_text()) == [["http://kg/1", "whole"]]


def test_a_folder_of_another_history_is_refused(tmp_path: Path) -> None:
    backtest(fill(ox.Store(), ["1", "2"]), settings(), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"version 1 was <.*2> when .* and is <.*10> now"):
        backtest(fill(ox.Store(), ["1", "10"]), settings(), tmp_path / "out")


@pytest.mark.parametrize("taken", ["1", "2"])
def test_a_history_with_other_edges_is_refused(tmp_path: Path, taken: str) -> None:
    store, out = fill(ox.Store(), ["1", "2", "10"]), tmp_path / "out"
    backtest(store, settings(), out, methods=["update", "frozen"], last=1)
    graph = ox.NamedNode(GRAPHS.format(version=taken))
    store.remove(next(store.quads_for_pattern(None, None, None, graph)))
    store.extend(quads(taken, [("e1", "next", "e5")]))
    for more in ({"methods": ["scratch"]}, {"models": ["distmult"]}, {"last": 2}):
        with pytest.raises(ConfigError, match=f"<{graph.value}> had other edges when"):
            backtest(store, settings(), out, **more)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot write results into .*: Not a directory"):
        backtest(fill(ox.Store()), settings(), tmp_path / "file" / "out")


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    with pytest.raises(ConfigError, match="is not a backtest folder"):
        backtest(fill(ox.Store()), settings(), tmp_path)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    store, out = fill(ox.Store(), ["1", "2"]), tmp_path / "out"
    backtest(store, settings(), out, methods=["update"])
    (out / "transe" / "0001-update.json").write_text("{")
    with pytest.raises(StateCorruptedError, match=r"0001-update\.json"):
        backtest(store, settings(), out, methods=["update"])


@pytest.mark.parametrize("name", ["history.json", "recipe.json", "transe/recipe.json"])
def test_a_damaged_note_is_named(tmp_path: Path, name: str) -> None:
    store, out = fill(ox.Store(), ["1", "2"]), tmp_path / "out"
    backtest(store, settings(), out, methods=["update"])
    (out / name).write_text("{")
    with pytest.raises(StateCorruptedError, match=f"cannot read .*{name}"):
        backtest(store, settings(), out, methods=["update"])


@pytest.mark.parametrize(("first", "last"), [(-1, None), (3, 3), (0, 4), (2, 1)])
def test_versions_that_are_not_there_are_refused(
    first: int, last: int | None, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="there are versions 0 to 3"):
        backtest(fill(ox.Store()), settings(), tmp_path / "out", first=first, last=last)


def test_a_method_that_is_not_there_is_refused(tmp_path: Path) -> None:
    dream: Any = ["update", "dream"]
    with pytest.raises(ConfigError, match="there is no method 'dream'"):
        backtest(fill(ox.Store()), settings(), tmp_path / "out", methods=dream)
    assert not (tmp_path / "out").exists()


def test_a_live_graph_has_no_history(tmp_path: Path) -> None:
    live = replace(settings(), source=SourceSettings(graphs=iri("kg/1")))
    with pytest.raises(ConfigError, match="at least two versions"):
        backtest(fill(ox.Store()), live, tmp_path / "out")


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    store, out = fill(ox.Store(), ["1", "2"]), tmp_path / "out"
    folder = RecordFolder(out)
    with folder.lock(), pytest.raises(StateLockedError, match="another process"):
        backtest(store, settings(), out)
    assert len(backtest(store, settings(), out).records()) == 4


def test_a_folder_left_before_its_first_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "backtest.json.new").write_text("{")
    backtest(fill(ox.Store(), ["1", "2"]), settings(), tmp_path / "out", methods=["frozen"])


def test_both_backends_go_through_a_backtest_alike(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    found = {}
    for backend in ("cpu", "torch"):
        chosen = replace(settings(), run=replace(settings().run, backend=backend))
        found[backend] = backtest(store, chosen, tmp_path / backend).records()
    for kernel, torch in zip(found["cpu"], found["torch"], strict=True):
        assert (kernel.method, kernel.epochs) == (torch.method, torch.epochs)
        assert kernel.score_evaluations == pytest.approx(torch.score_evaluations, rel=0.2)


@pytest.mark.parametrize("old", ["retrain", "recalculate"])
def test_results_under_the_former_names_of_methods_are_still_read(
    tmp_path: Path, old: str, caplog: pytest.LogCaptureFixture
) -> None:
    store, out = fill(ox.Store()), tmp_path / "out"
    first = backtest(store, settings(), out, methods=[old, "leave"], last=1)
    assert f"the method {old!r} is now called 'scratch'" in caplog.text
    before = first.records()
    assert {record.method for record in before} == {"train", "scratch", "frozen"}
    for new, former in (("scratch", old), ("frozen", "leave")):
        for path in out.glob(f"*/*-{new}.*"):
            path.rename(path.with_name(path.name.replace(new, former)))
        for path in out.glob(f"*/*-{former}.json"):
            path.write_text(path.read_text().replace(f'"{new}"', f'"{former}"'))
    again = backtest(store, settings(), out, last=2)
    assert [record for record in again.records() if record in before] == before
    assert not list(out.glob("*/0001-*frozen.json"))  # it was not run again
    assert not list(out.glob("*/0001-leave.safetensors"))


def test_results_of_an_earlier_release_are_read_but_not_continued(tmp_path: Path) -> None:
    store, out = fill(ox.Store(), ["1", "2"]), tmp_path / "out"
    backtest(store, settings(), out, methods=["scratch"])
    (out / "backtest.json").write_text('{"format": 3}')
    path = out / "transe" / "0001-scratch.json"
    old = json.loads(path.read_text())
    for name in ("groups", "neighbors", "cpu_seconds", "phases", "strategy", "choice"):
        del old[name]
    (out / "transe" / "0001-retrain.json").write_text(json.dumps({**old, "method": "retrain"}))
    path.unlink()
    record = find(RecordFolder(out), "transe", "scratch", 1)
    assert record.mrr is not None
    assert record.group("added") is None
    history = (out / "history.json").read_text()
    with pytest.raises(ConfigError, match=r"earlier release of kgsync.*choose another folder"):
        backtest(store, settings(), out, methods=["scratch"])
    assert (out / "history.json").read_text() == history


def test_results_of_a_later_release_are_refused(tmp_path: Path) -> None:
    (tmp_path / "backtest.json").write_text('{"format": 99}')
    with pytest.raises(ConfigError, match="later release of kgsync"):
        RecordFolder(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "new"}'])
def test_a_damaged_mark_of_a_folder_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "backtest.json").write_text(text)
    with pytest.raises(StateCorruptedError, match=r"cannot read .*backtest\.json"):
        RecordFolder(tmp_path)
