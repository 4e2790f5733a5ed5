"""Training from scratch: when it validates, stops and goes back, and that it repeats."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kgsync.common.cost import Cost
from kgsync.config import ModelSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.config import checks as config_checks
from kgsync.errors import TrainingError
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.training import backends
from kgsync.training.offline import train_offline
from kgsync.training.torch_backend.trainer import Trainer
from tests.models.cases import CASES, EVERY_CASE, ModelCase, assert_same_vectors
from tests.training.conftest import Epochs, Validations
from tests.training.graphs import Version, ring

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

EDGES = ring(20, 1, 3)
VERSION = Version(train=EDGES[:30], validation=EDGES[30:35], test=EDGES[35:])
UNVALIDATED = Version(train=EDGES[:35], test=EDGES[35:])
SHORT = TrainingSettings(epochs=6, batches=5, validate_every=2)


def _settings(case: ModelCase, training: TrainingSettings = SHORT) -> Settings:
    return Settings(model=case.settings, training=training)


def _start(case: ModelCase, version: Version, seed: int = 0) -> Model:
    """The model training starts from."""
    seeds = version.problem(_settings(case), seed=seed).seeds
    sizes = len(version.active.entities), len(version.active.relations)
    chosen = model_class(case.settings.name)
    return chosen.random(case.settings, *sizes, seeds.torch("initial vectors"))


@every_model
def test_the_same_seed_gives_the_same_vectors(case: ModelCase) -> None:
    def trained(seed: int) -> Model:
        return train_offline(VERSION.problem(_settings(case), seed=seed), Cost())[0]

    first, again, other = trained(0), trained(0), trained(1)
    for name, table in first.tables.items():
        assert torch.equal(table, again.tables[name])
        assert not torch.equal(table, other.tables[name])


@every_model
def test_no_epochs_leave_the_initial_vectors(case: ModelCase) -> None:
    cost = Cost()
    training = TrainingSettings(epochs=0)
    model, run = train_offline(VERSION.problem(_settings(case, training)), cost)
    for name, table in _start(case, VERSION).tables.items():
        assert torch.equal(model.tables[name], table)
    assert (run.epochs, run.best_epoch, run.final_loss) == (0, None, None)
    assert cost == Cost()


@every_model
def test_the_learning_rate_is_the_one_set_or_the_default(case: ModelCase, epochs: Epochs) -> None:
    train_offline(VERSION.problem(_settings(case)), Cost())
    train_offline(VERSION.problem(_settings(case, replace(SHORT, learning_rate=0.7))), Cost())
    assert epochs.rates("general") == [case.learning_rate] * 6 + [0.7] * 6


def test_the_learning_rate_decays_on_a_plateau(epochs: Epochs) -> None:
    training = TrainingSettings(epochs=45, learning_rate=1.0, validate_every=0)
    train_offline(VERSION.problem(_settings(CASES[0], training)), Cost())
    assert epochs.rates("general") == pytest.approx([1.0] * 21 + [0.95] * 20 + [0.95**2] * 4)


def test_validation_happens_every_so_many_epochs(validations: Validations) -> None:
    training = replace(SHORT, epochs=7, validate_every=3)
    _, run = train_offline(VERSION.problem(_settings(CASES[0], training)), Cost())
    assert [epoch for epoch, _ in run.validations] == [3, 6]
    assert (run.epochs, len(validations.states)) == (7, 2)


@every_model
def test_the_best_validated_state_is_restored(case: ModelCase, validations: Validations) -> None:
    validations.script = [0.1, 0.7, 0.3]
    model, run = train_offline(VERSION.problem(_settings(case)), Cost())
    assert (run.best_epoch, run.epochs, run.stopped_early) == (4, 6, False)
    assert_same_vectors(model, validations.states[1])
    for name, table in model.tables.items():
        assert not torch.equal(table, validations.states[2][name])


def test_training_stops_when_patience_ends(validations: Validations) -> None:
    validations.script = [0.5, 0.6, *[0.6] * 10]
    training = replace(SHORT, epochs=100, patience=3)
    model, run = train_offline(VERSION.problem(_settings(CASES[0], training)), Cost())
    assert (run.best_epoch, run.epochs, run.stopped_early) == (4, 10, True)
    assert torch.equal(model.tables["entity"], validations.states[1]["entity"])


@pytest.mark.parametrize(
    ("version", "every"), [(UNVALIDATED, 2), (VERSION, 0)], ids=["no part", "switched off"]
)
def test_without_validation_the_last_state_stays(
    version: Version, every: int, validations: Validations
) -> None:
    training = replace(SHORT, validate_every=every)
    model, run = train_offline(version.problem(_settings(CASES[0], training)), Cost())
    assert not validations.states
    assert (run.epochs, run.best_epoch, run.validations) == (6, None, [])
    assert not torch.equal(model.tables["entity"], _start(CASES[0], version).tables["entity"])


def test_every_epoch_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    train_offline(VERSION.problem(_settings(CASES[0])), Cost(), lambda *step: told.append(step))
    assert told == [("training", epoch, 6) for epoch in range(1, 7)]


def _annealed(share: float | None = 0.5, **training: int) -> TrainingSettings:
    return replace(SHORT, learning_rate=1.0, annealing=share, **training)  # type: ignore[arg-type]


def test_the_rate_falls_linearly_from_the_best_epoch_on(
    epochs: Epochs, validations: Validations
) -> None:
    validations.script = [0.1, 0.7, 0.3]  # the best is epoch 4 of 6, so two epochs follow
    _, run = train_offline(VERSION.problem(_settings(CASES[0], _annealed())), Cost())
    assert epochs.rates("general") == pytest.approx([1.0] * 6 + [0.505, 0.01])
    assert run.epochs == 8


def test_without_validation_the_rate_falls_after_the_last_epoch(epochs: Epochs) -> None:
    training = _annealed(validate_every=0, epochs=20)
    _, run = train_offline(VERSION.problem(_settings(CASES[0], training)), Cost())
    falling = epochs.rates("general")[20:]
    assert falling == pytest.approx([1 - 0.099 * number for number in range(1, 11)])
    assert (run.epochs, run.best_epoch) == (30, None)


@pytest.mark.parametrize(("hits", "best"), [(0.6, 4), (0.8, 8)], ids=["worse", "better"])
def test_annealing_is_kept_if_it_is_better(
    hits: float, best: int, validations: Validations
) -> None:
    validations.script = [0.1, 0.7, 0.3, hits]
    model, run = train_offline(VERSION.problem(_settings(CASES[0], _annealed())), Cost())
    assert (run.best_epoch, run.epochs, run.stopped_early) == (best, 8, False)
    kept, other = (3, 1) if best == 8 else (1, 3)
    assert_same_vectors(model, validations.states[kept])
    assert not torch.equal(model.tables["entity"], validations.states[other]["entity"])


def test_annealing_begins_with_the_best_state(
    epochs: Epochs, validations: Validations, monkeypatch: pytest.MonkeyPatch
) -> None:
    validations.script = [0.7, 0.3, 0.3, 0.3]
    monkeypatch.setattr(Trainer, "general_epoch", _add_one)
    train_offline(VERSION.problem(_settings(CASES[0], _annealed())), Cost())
    first, *_, last = (state["entity"] for state in validations.states)
    torch.testing.assert_close(last, first + 1)  # epoch 2, and one epoch of annealing


def _add_one(self: Trainer, rate: float) -> float:
    self._steps._model.tables["entity"].add_(1)
    self._steps.bring_back()
    return 1.0


def test_only_the_procedure_of_the_paper_does_without_annealing() -> None:
    training = TrainingSettings(epochs=8, validate_every=0)
    done = {}
    for name in ("paper", "local"):
        settings = replace(_settings(CASES[0], training), update=UpdateSettings(strategy=name))
        _, run = train_offline(VERSION.problem(settings), Cost())
        done[name] = run.epochs, settings.hyper_parameters()["training"]["annealing"]
    assert done == {"paper": (8, 0.0), "local": (10, 0.25)}


def test_vectors_that_are_not_finite_after_annealing_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backends, "uses_kernels", lambda run, model: False)
    seen: list[float] = []

    def spoil(self: Trainer, rate: float) -> float:
        seen.append(rate)
        if len(seen) > 6:
            self._steps._model.tables["entity"].fill_(float("nan"))
            self._steps.bring_back()
        return 1.0

    monkeypatch.setattr(Trainer, "general_epoch", spoil)
    training = _annealed(validate_every=0)
    with pytest.raises(TrainingError, match="no longer finite"):
        train_offline(VERSION.problem(_settings(CASES[0], training)), Cost())


@every_model
def test_costs_stay_within_the_bounds_of_the_theorems(case: ModelCase) -> None:
    cost = Cost()
    train_offline(VERSION.problem(_settings(case)), cost)
    assert 0 < cost.score_evaluations <= 6 * 2 * len(VERSION.train)
    assert 0 < cost.gradient_steps <= 6 * 5 * (20 + 2)


def test_a_version_without_training_triples_keeps_its_initial_vectors() -> None:
    """The keyed hash may hold out every triple of a tiny graph."""
    version = Version(train=(), validation=((0, 0, 1),), test=((1, 0, 0),))
    model, _ = train_offline(version.problem(_settings(CASES[0])), Cost())
    for name, table in _start(CASES[0], version).tables.items():
        assert torch.equal(model.tables[name], table)


def test_an_entity_without_training_triples_keeps_its_start_vector() -> None:
    """As a corrupted side it would be pushed away from everything it might belong to."""
    version = Version(train=ring(6, 1, 2), validation=((0, 0, 6),), test=((7, 1, 6),))
    problem = version.problem(_settings(CASES[0], replace(SHORT, validate_every=0)))
    model, _ = train_offline(problem, Cost())
    moved = (model.tables["entity"] != _start(CASES[0], version).tables["entity"]).any(dim=1)
    assert moved.nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5]


@pytest.fixture
def _any_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings refuse the rates that would do it at once."""
    monkeypatch.setattr(config_checks, "check_value", lambda *_: None)


def test_a_rate_that_settings_allow_may_still_be_too_high() -> None:
    settings = Settings(
        model=ModelSettings(name="transe", dimension=8, norm="l2sq"),
        training=TrainingSettings(epochs=20, learning_rate=1e6, validate_every=0),
    )
    with pytest.raises(TrainingError, match="lower the learning rate"):
        train_offline(VERSION.problem(settings), Cost())


@pytest.mark.usefixtures("_any_rate")
@pytest.mark.parametrize(("name", "rate"), [("transe", 1e38), ("distmult", 1e30)])
def test_a_loss_that_becomes_infinite_stops_training(name: str, rate: float) -> None:
    settings = Settings(
        model=ModelSettings(name=name, dimension=8),
        training=TrainingSettings(epochs=20, learning_rate=rate, validate_every=0),
    )
    with pytest.raises(TrainingError, match="lower the learning rate"):
        train_offline(VERSION.problem(settings), Cost())


@pytest.mark.usefixtures("_any_rate")
def test_vectors_that_overflow_in_the_very_last_step_are_an_error_too() -> None:
    """No loss is computed after it that could tell."""
    settings = Settings(
        model=ModelSettings(name="transe", dimension=8, margin=100.0),
        training=TrainingSettings(epochs=1, batches=1, learning_rate=3e38, validate_every=0),
    )
    with pytest.raises(TrainingError):
        train_offline(VERSION.problem(settings), Cost())
