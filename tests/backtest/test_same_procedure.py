"""A backtest and a sync run the same procedure with the same random numbers."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from numpy.typing import NDArray

from kgsync import KGSync
from kgsync.backtest.methods import first_of, known_methods, strategy_of
from kgsync.backtest.record import Record
from kgsync.backtest.run import backtest
from kgsync.config import Settings, SourceSettings
from kgsync.state.sidecar import read_tables
from tests.processes import python
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, quick_settings

STRATEGIES = [name for name in known_methods() if strategy_of(name, quick_settings())]
KILLED = """
import os, signal, sys
from pathlib import Path
from kgsync.backtest.run import backtest
from tests.backtest.test_same_procedure import settings

class Killer:
    def phase(self, name):
        if name == f"distmult, version 2: {sys.argv[3]}":
            os.kill(os.getpid(), signal.SIGKILL)
    def progress(self, name, done, total):
        pass

methods = sys.argv[3:]
chosen, out = settings(model="distmult"), Path(sys.argv[2])
backtest(sys.argv[1], chosen, out, methods=methods, listener=Killer())
"""


def settings(strategy: str = "paper", model: str = "transe") -> Settings:
    """Quick settings with a strategy, that name the graphs."""
    given = replace(quick_settings(model), source=SourceSettings(graphs=GRAPHS))
    return replace(given, update=replace(given.update, strategy=strategy))


@pytest.mark.parametrize("configured", thinned(["paper", "local"], "local".__eq__))
@pytest.mark.parametrize("method", STRATEGIES)
def test_a_method_is_what_a_sync_with_its_strategy_does(
    method: str, configured: str, tmp_path: Path
) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2", "10"])
    own = strategy_of(method, settings(configured))
    assert own is not None
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings(own))
    assert len(sync.catch_up(allow_large_removal=True)) == 3
    results = backtest(store, settings(configured), tmp_path / "out", methods=[method])
    synced = read_tables(tmp_path / "state/000003/embeddings")
    tables = results.tables("transe", method, 2)
    assert synced.keys() == tables.keys()
    for name, table in tables.items():
        assert np.array_equal(synced[name], table.numpy())


def test_a_killed_backtest_remembers_what_its_methods_do(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2", "10"])
    names = ["local", "wide", "aligned"]
    assert python(KILLED, str(store), str(tmp_path / "killed"), *names) == -signal.SIGKILL
    assert len(list((tmp_path / "killed").glob("distmult/0001-*.json"))) == len(names)
    for folder in ("killed", "quiet"):
        backtest(store, settings(model="distmult"), tmp_path / folder, methods=names)
    for name in names:
        killed, quiet = (_left(tmp_path / f, name) for f in ("killed", "quiet"))
        assert any(key.startswith("kept.state.") for key in quiet)
        assert any(key.startswith("kept.ranks.") for key in quiet)
        assert killed.keys() == quiet.keys()
        for key, array in quiet.items():
            assert np.array_equal(killed[key], array)


def _left(folder: Path, method: str) -> dict[str, NDArray[Any]]:
    found = safetensors.numpy.load_file(folder / "distmult" / f"0002-{method}.safetensors")
    return dict(found)


def test_methods_share_the_first_version_as_far_as_it_is_trained_alike(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2"])
    names = ["update", "local", "wide", "frozen"]
    results = backtest(store, settings(), tmp_path / "out", methods=names)
    firsts = {record.method for record in results.records() if record.version == 0}
    assert firsts == {first_of(name, settings()) for name in names}
    assert len(firsts) == 2  # the paper's training has no annealing
    given = settings()
    annealed = replace(given, training=replace(given.training, annealing=0.25))
    assert {first_of(name, annealed) for name in names} == {"train"}


def test_retraining_from_scratch_is_annealed_unless_the_settings_say_otherwise(
    tmp_path: Path,
) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2"])
    given = settings()
    plain = replace(given, training=replace(given.training, annealing=0.0))
    epochs = {}
    for name, chosen in (("annealed", given), ("plain", plain)):
        records = backtest(store, chosen, tmp_path / name, methods=["scratch"]).records()
        epochs[name] = _of(records, "scratch").epochs
    assert epochs["plain"] < epochs["annealed"]


def test_a_record_has_what_was_learned_what_it_took_and_what_consumers_see(
    tmp_path: Path,
) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2"])
    names = ["local", "frozen", "scratch"]
    records = backtest(store, settings(), tmp_path / "out", methods=names).records()
    local, frozen, scratch = (_of(records, name) for name in names)
    assert local.groups.keys() >= {"added", "unchanged", "deleted", "unseen", "near"}
    assert local.strategy == "local"
    assert scratch.strategy is None
    assert frozen.rewritten_entities == 0.0
    assert scratch.rewritten_entities == 1.0
    assert frozen.neighbors is not None
    assert frozen.neighbors["overlap"] == 1.0
    assert {"initial vectors", "update"} <= local.phases.keys()
    assert scratch.phases.keys() == {"train"}
    for record in (local, scratch):
        for name in ("seconds", "cpu_seconds"):
            parts = [times[name] for times in record.phases.values()]
            assert 0 < sum(parts) <= getattr(record, name)
    assert scratch.moments  # what they took to be measured is not in the phases


def test_a_record_has_what_auto_chose_and_why(tmp_path: Path) -> None:
    store = disk_store(tmp_path / "kg", ["1", "2"])
    results = backtest(store, settings(), tmp_path / "out", methods=["auto", "local"])
    auto, local = (_of(results.records(), name) for name in ("auto", "local"))
    assert auto.choice is not None
    assert auto.choice["strategy"] in auto.choice["predicted"]
    assert "of training triples changed" in auto.choice["reason"]
    assert local.choice is None
    rows = json.loads((results.path / "results.json").read_text())
    told = {row["method"]: (row["chosen_strategy"], row["chosen_because"]) for row in rows}
    assert told["auto"] == (auto.choice["strategy"], auto.choice["reason"])
    assert told["local"] == (None, None)


def _of(records: list[Record], method: str) -> Record:
    (found,) = (r for r in records if r.method == method and r.version == 1)
    return found
