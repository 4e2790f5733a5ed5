"""The choice of a strategy: by the size of the change and the predicted work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

from kgsync import KGSync, Settings
from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import ModelSettings, TrainingSettings, UpdateSettings
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.offline import train_offline
from kgsync.training.progress import Choice
from kgsync.training.updates import UpdateTask, strategy
from kgsync.training.updates.auto import choose
from kgsync.training.work import remember_training
from tests.training.graphs import Triple, Version
from tests.worlds import GRAPHS, quads, quick_settings, ring

SETTINGS = Settings(
    model=ModelSettings("transe", 8),
    training=TrainingSettings(epochs=300, validate_every=0),
    update=UpdateSettings(strategy="auto"),
)


def _graph(triples: int, entities: int = 300) -> tuple[Triple, ...]:
    random = np.random.default_rng(0)
    drawn = random.integers(0, (entities, 3, entities), (2 * triples, 3)).tolist()
    return tuple(dict.fromkeys((h, r, t) for h, r, t in drawn))[:triples]


def _world(changed: int) -> tuple[Version, Version]:
    """Two versions; so many triples are replaced by others."""
    triples = _graph(4000 + changed)
    return Version(train=triples[:4000]), Version(train=triples[changed:])


def _chosen(old: Version, new: Version, kept: Kept = NOTHING_KEPT) -> Choice:
    return choose(old.change_to(new), new.problem(SETTINGS), kept)


def _kept(scores_per_triple: int) -> Kept:
    """What is kept after training from scratch that took so much."""
    problem = _world(0)[0].problem(SETTINGS)
    return remember_training(NOTHING_KEPT, 4000 * scores_per_triple, problem)


def test_a_small_change_is_learned_locally_and_a_large_one_widely() -> None:
    small, large = _chosen(*_world(20)), _chosen(*_world(1500))
    assert small.strategy == "local"
    assert small.reason == "1.00% of training triples changed"
    assert set(small.predicted) == set(large.predicted) == {"local", "wide", "retrain"}
    assert large.strategy == "wide"
    assert "54.55% of training triples changed" in large.reason  # 3,000 of 5,500


def test_a_small_change_that_takes_more_work_than_retraining_is_learned_widely() -> None:
    old, new = _world(100)
    chosen = {scores: _chosen(old, new, _kept(scores)) for scores in (2, 400)}
    assert {scores: choice.strategy for scores, choice in chosen.items()} == {
        2: "wide",
        400: "local",
    }
    cheap = chosen[2].predicted
    assert cheap["local"] > cheap["retrain"]
    assert "too much work" in chosen[2].reason


def test_a_graph_of_which_hardly_anything_is_left_is_retrained() -> None:
    triples = _graph(4000)
    old = Version(train=triples)
    gone = {term for triple in triples[400:] for term in triple[::2]}
    assert len(gone) > 250  # deleted triples count, also those of deleted entities
    choice = _chosen(old, Version(train=triples[:400]))
    assert choice.strategy == "retrain"
    assert choice.reason == "90.00% of training triples changed"


def test_what_was_spent_on_training_predicts_retraining() -> None:
    old, new = _world(1500)
    problem, cost = old.problem(SETTINGS), Cost()
    _, run = train_offline(problem, cost)
    predicted = _chosen(old, new, run.kept).predicted
    assert predicted["retrain"] == cost.score_evaluations  # versions of the same size
    assert predicted["wide"] < 0.35 * predicted["retrain"]  # a third of it, in whole epochs


@pytest.mark.parametrize(("changed", "name"), [(20, "local"), (100, "local"), (1500, "wide")])
def test_the_prediction_is_near_what_is_found(changed: int, name: str) -> None:
    old, new = _world(changed)
    model, run = train_offline(old.problem(SETTINGS), Cost())
    problem, cost = new.problem(SETTINGS), Cost()
    choice = _chosen(old, new, run.kept)
    carried = carry_over(model, old.active, problem)
    phases = Phases(SilentListener())
    task = UpdateTask(carried, old.active, old.change_to(new), problem, phases, cost, kept=run.kept)
    done = strategy("auto")(task)
    assert done.choice == choice
    assert choice.strategy == name
    assert 0.3 < cost.score_evaluations / choice.predicted[name] < 3


def test_plans_and_reports_say_what_is_chosen(tmp_path: Path) -> None:
    store, quick = ox.Store(), quick_settings()
    settings = replace(quick, update=replace(quick.update, strategy="auto"))
    sync = KGSync(store, GRAPHS, state=tmp_path, settings=settings)
    store.extend(quads("1", ring(200)))
    assert sync.step().update is None  # trained, not updated
    store.extend(quads("2", [*ring(200), ("e0", "skip", "e20")]))
    plan = sync.plan()
    assert plan.update is not None
    assert plan.update["strategy"] == "local"
    report = sync.step()
    assert report.update is not None
    assert report.update["strategy"] == "local"
    assert report.update["predicted"] == plan.update["predicted"]
    assert report.update["scores"] > 0
    for text in (str(plan), str(report)):
        assert "local: " in text
        assert "predicted: local " in text
    assert sync.history()[-1].update == report.update
