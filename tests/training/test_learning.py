"""Training and updating learn: on graphs with a simple rule, quality rises far above chance."""

from __future__ import annotations

import pytest
import torch

from kgsync.common.cost import Cost
from kgsync.config import ModelSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.evaluation.ranking import link_prediction
from kgsync.graph.active import TripleRows
from kgsync.models import MODELS, model_class
from kgsync.models.base import Model
from kgsync.training.initial.vectors import carry_over, initialize
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.updates.paper import refresh
from tests.models.cases import of_files
from tests.training.graphs import Version, communities, grid, held_out

# Moves on a board compose as translations do; communities are what a symmetric model can tell, and
# where each leads on to the next only a model that tells head from tail.
BOARD = grid(7, (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (1, -1), (2, 1), (3, 0), (0, 3), (1, 2))
PEOPLE = communities(6, 6)
CIRCLE = [
    (a, r, b)
    for a in range(36)
    for r in (0, 1)
    for b in range(36)
    if a != b and b // 6 == (a // 6 + r) % 6
]

LEARNERS = [
    pytest.param(ModelSettings("transe", 20, norm="l1"), BOARD, 0.03, 100, id="transe-l1"),
    pytest.param(ModelSettings("transe", 20, norm="l2"), BOARD, 0.03, 100, id="transe-l2"),
    pytest.param(ModelSettings("transh", 12), BOARD, 0.03, 100, id="transh"),
    pytest.param(ModelSettings("transd", 12), BOARD, 0.03, 100, id="transd"),
    pytest.param(ModelSettings("distmult", 16), PEOPLE, 0.1, 40, id="distmult"),
    pytest.param(ModelSettings("rescal", 8), CIRCLE, 0.1, 20, id="rescal"),
    pytest.param(ModelSettings("analogy", 16), CIRCLE, 0.1, 20, id="analogy"),
    pytest.param(ModelSettings("complex", 16), CIRCLE, 0.1, 20, id="complex"),
    *(
        pytest.param(settings, {"circle": CIRCLE, "board": BOARD}[graph], rate, epochs, id=name)
        for name, settings, graph, rate, epochs in of_files("LEARNERS")
    ),
]


UPDATERS = [
    learner
    for learner in LEARNERS
    if learner.id in ("transe-l1", "transh", "distmult", "rescal", "complex")
]


def test_every_model_is_among_the_learners() -> None:
    assert {learner.values[0].name for learner in LEARNERS} == set(MODELS)  # type: ignore[union-attr]


def _settings(model: ModelSettings, rate: float, epochs: int) -> Settings:
    return Settings(
        model=model,
        training=TrainingSettings(epochs=epochs, batches=10, learning_rate=rate),
        update=UpdateSettings(
            change_epochs=4,
            general_epochs=36,
            general_learning_rate=rate / 2,
            change_learning_rate=rate / 4,
        ),
    )


def _mrr(problem: Problem, model: Model, triples: TripleRows | None = None) -> float:
    ranked = problem.test_sample if triples is None else triples
    count = ranked.shape[1]
    return link_prediction(model, ranked, problem.known, 16, sampled_from=count).mrr


@pytest.mark.parametrize(("settings", "graph", "rate", "epochs"), LEARNERS)
def test_training_beats_a_random_model_by_far(
    settings: ModelSettings, graph: list[tuple[int, int, int]], rate: float, epochs: int
) -> None:
    problem = held_out(graph).problem(_settings(settings, rate, epochs))
    model, run = train_offline(problem, Cost())
    random = model_class(settings.name).random(
        settings, model.sizes["entity"], model.sizes["relation"], torch.Generator().manual_seed(9)
    )
    assert _mrr(problem, random) < 0.15
    assert _mrr(problem, model) > 0.3
    assert run.best_epoch is not None


@pytest.mark.parametrize(("settings", "graph", "rate", "epochs"), UPDATERS)
def test_an_update_places_new_entities_and_keeps_what_was_learnt(
    settings: ModelSettings, graph: list[tuple[int, int, int]], rate: float, epochs: int
) -> None:
    new = held_out(graph)
    newcomers = {3, 10, 17, 24, 31}
    parts = (new.train, new.validation, new.test)
    old = Version(*(tuple(t for t in part if newcomers.isdisjoint(t[::2])) for part in parts))
    chosen = _settings(settings, rate, epochs * 6 // 10)
    trained, _ = train_offline(old.problem(chosen), Cost())
    problem = new.problem(chosen)
    model = carry_over(trained, old.active, problem)
    active, held = problem.active, (*new.validation, *new.test)

    def mrr(*, of_newcomers: bool) -> float:
        chosen_ = tuple(t for t in held if newcomers.isdisjoint(t[::2]) is not of_newcomers)
        assert len(chosen_) >= 10
        return _mrr(problem, model, active.rows(Version(train=chosen_).edges))

    before = {kind: mrr(of_newcomers=kind) for kind in (True, False)}
    initialize(model, old.active, problem, Cost())
    assert mrr(of_newcomers=True) > before[True] + 0.03
    assert mrr(of_newcomers=False) > before[False] - 0.05
    refresh(model, old.change_to(new), problem, Cost())
    assert mrr(of_newcomers=True) > before[True] + 0.05
    assert mrr(of_newcomers=False) > before[False] - 0.1
