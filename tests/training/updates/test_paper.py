"""Updating: how epochs are mixed, which triples they use, and what is kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.common.cost import Cost
from kgsync.config import Settings, TrainingSettings, UpdateSettings
from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model
from kgsync.training.progress import TrainingRun
from kgsync.training.updates.paper import change_epoch_numbers, refresh
from tests.models.cases import CASES, EVERY_CASE, ModelCase, assert_same_vectors
from tests.training.conftest import Draws, Epochs, Validations
from tests.training.graphs import Triple, Version, as_triples

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

# Entity 5 dies and with it two triples; entity 7 is born; relation 2 dies, relation 3 is born.
# Of the deleted triples with active terms (0, 0, 3) was for training, (1, 1, 4) for test.
STABLE: tuple[Triple, ...] = ((0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 1, 4), (4, 1, 6), (6, 1, 0))
OLD = Version(
    train=(*STABLE, (0, 0, 3), (5, 0, 1), (2, 1, 5), (1, 2, 3)),
    validation=((2, 1, 0),),
    test=((1, 1, 4),),
)
NEW = Version(
    train=(*STABLE, (0, 1, 2), (7, 0, 1), (1, 3, 2)),
    validation=((2, 1, 0), (3, 0, 6)),
    test=((4, 0, 1),),
)
CHANGE = OLD.change_to(NEW)
BRIEF = UpdateSettings(change_epochs=2, general_epochs=4, validate_every=2)


def _settings(case: ModelCase, update: UpdateSettings = BRIEF) -> Settings:
    return Settings(model=case.settings, training=TrainingSettings(batches=3), update=update)


def _model(case: ModelCase, version: Version = NEW) -> Model:
    active = version.active
    return case.random(len(active.entities), len(active.relations), dtype=torch.float32)


def _refreshed(
    case: ModelCase, update: UpdateSettings = BRIEF, seed: int = 0, cost: Cost | None = None
) -> tuple[Model, TrainingRun]:
    model = _model(case)
    problem = NEW.problem(_settings(case, update), seed=seed)
    return model, refresh(model, CHANGE, problem, cost or Cost())


def _ids(rows: TripleRows, version: Version = NEW) -> list[Triple]:
    """Triples of ids of triples of rows."""
    active = version.active
    return [
        (int(active.entities[h]), int(active.relations[r]), int(active.entities[t]))
        for h, r, t in as_triples(rows)
    ]


def test_twenty_of_two_hundred_epochs_are_change_specific() -> None:
    assert change_epoch_numbers(20, 180) == set(range(5, 200, 10))


@pytest.mark.parametrize(
    ("change", "general", "expected"),
    [(0, 0, set()), (0, 9, set()), (3, 0, {1, 2, 3}), (1, 4, {3}), (2, 2, {1, 3}), (1, 1, {1})],
)
def test_few_epochs_are_mixed_evenly_too(change: int, general: int, expected: set[int]) -> None:
    assert change_epoch_numbers(change, general) == expected


@given(change=st.integers(1, 300), general=st.integers(0, 2000))
@settings(deadline=None)
def test_change_epochs_are_as_many_as_asked_for_and_spread_evenly(
    change: int, general: int
) -> None:
    numbers = sorted(change_epoch_numbers(change, general))
    total = change + general
    assert len(numbers) == change
    assert numbers[0] >= 1
    assert numbers[-1] <= total
    gaps = {after - before for before, after in pairwise(numbers)}
    assert not gaps or max(gaps) - min(gaps) <= 1
    # Each is the middle of one of `change` equal stretches, rounded up.
    past = [2 * change * n - (2 * i + 1) * total for i, n in enumerate(numbers)]
    assert all(0 <= distance < 2 * change for distance in past)


def test_epochs_run_in_the_order_of_the_mix(epochs: Epochs) -> None:
    _, run = _refreshed(CASES[0], UpdateSettings(validate_every=0))
    kinds = [kind for kind, _ in epochs.ran]
    assert run.epochs == len(kinds) == 200
    assert {i for i, kind in enumerate(kinds, start=1) if kind == "change"} == set(
        range(5, 200, 10)
    )


@every_model
def test_rates_are_a_fifth_and_a_tenth_of_the_training_rate(
    case: ModelCase, epochs: Epochs
) -> None:
    _refreshed(case)
    assert epochs.rates("general") == pytest.approx([case.learning_rate / 5] * 4)
    assert epochs.rates("change") == pytest.approx([case.learning_rate / 10] * 2)


def test_rates_can_be_set(epochs: Epochs) -> None:
    update = replace(BRIEF, general_learning_rate=0.5, change_learning_rate=0.3)
    _refreshed(CASES[0], update)
    assert epochs.rates("general") == [0.5] * 4
    assert epochs.rates("change") == [0.3] * 2


def test_the_decay_follows_the_general_loss_and_scales_both_rates(epochs: Epochs) -> None:
    update = UpdateSettings(
        change_epochs=10,
        general_epochs=50,
        general_learning_rate=1.0,
        change_learning_rate=0.5,
        validate_every=0,
    )
    _refreshed(CASES[0], update)
    # The loss never falls: after 21 and 41 general epochs the rates drop.
    seen, scale = 0, 1.0
    for kind, rate in epochs.ran:
        assert rate == pytest.approx(scale if kind == "general" else scale / 2)
        seen += kind == "general"
        scale = 0.95 ** ((seen - 1) // 20) if seen else 1.0
    assert scale == pytest.approx(0.95**2)


def test_the_loss_of_change_epochs_is_no_sign_of_a_plateau(epochs: Epochs) -> None:
    epochs.change_loss = 0.0
    update = UpdateSettings(change_epochs=40, general_epochs=1, validate_every=0)
    _, run = _refreshed(CASES[0], update)
    assert len(set(epochs.rates("change"))) == 1
    assert run.final_loss == 1.0


def test_rates_start_anew_with_every_update(epochs: Epochs) -> None:
    update = UpdateSettings(change_epochs=0, general_epochs=50, validate_every=0)
    for _ in range(2):
        epochs.ran.clear()
        _refreshed(CASES[0], update)
        assert epochs.rates("general")[0] == pytest.approx(0.0002)


def test_a_change_epoch_uses_the_changed_training_triples_whose_terms_live(draws: Draws) -> None:
    _refreshed(CASES[0], UpdateSettings(change_epochs=1, general_epochs=0))
    (true, _), (deleted, _) = draws.corrupted[0], draws.corrected[0]
    assert sorted(_ids(true)) == [(0, 1, 2), (1, 3, 2), (7, 0, 1)]
    # (5, 0, 1) and (2, 1, 5) went with entity 5, (1, 2, 3) with relation 2, (1, 1, 4) is test.
    assert _ids(deleted) == [(0, 0, 3)]


def test_added_triples_that_touch_new_elements_can_be_skipped(draws: Draws) -> None:
    update = UpdateSettings(change_epochs=1, general_epochs=0, skip_new_elements=True)
    _refreshed(CASES[0], update)
    (true, _), (deleted, _) = draws.corrupted[0], draws.corrected[0]
    assert _ids(true) == [(0, 1, 2)]
    assert _ids(deleted) == [(0, 0, 3)]


def test_general_epochs_use_all_training_triples_new_elements_or_not(draws: Draws) -> None:
    update = UpdateSettings(change_epochs=0, general_epochs=1, skip_new_elements=True)
    _refreshed(CASES[0], update)
    seen = [triple for true, _ in draws.corrupted for triple in _ids(true)]
    assert sorted(seen) == sorted(NEW.train)


def test_corrections_and_corruptions_are_those_of_the_new_version(draws: Draws) -> None:
    _refreshed(CASES[0], UpdateSettings(change_epochs=20, general_epochs=0, validate_every=0))
    false = {triple for _, drawn in draws.corrupted for triple in _ids(drawn)}
    corrected = {triple for _, drawn in draws.corrected for triple in _ids(drawn)}
    assert false.isdisjoint(NEW.train)
    # eq. correctTriples of (0, 0, 3)
    assert corrected == {(0, 0, 1), (2, 0, 3)}


@every_model
def test_the_same_seed_gives_the_same_vectors(case: ModelCase) -> None:
    first, again, other = (_refreshed(case, seed=seed)[0] for seed in (0, 0, 1))
    for name, table in first.tables.items():
        assert torch.equal(table, again.tables[name])
    assert not torch.equal(first.tables["entity"], other.tables["entity"])


@every_model
def test_no_epochs_keep_every_vector(case: ModelCase) -> None:
    cost = Cost()
    model, run = _refreshed(case, UpdateSettings(change_epochs=0, general_epochs=0), cost=cost)
    for name, table in _model(case).tables.items():
        assert torch.equal(model.tables[name], table)
    assert run == TrainingRun()
    assert cost == Cost()


@every_model
def test_the_model_is_refreshed_in_place(case: ModelCase) -> None:
    model = _model(case)
    tables = dict(model.tables)
    refresh(model, CHANGE, NEW.problem(_settings(case)), Cost())
    for name, table in tables.items():
        assert model.tables[name] is table
    assert not torch.equal(model.tables["entity"], _model(case).tables["entity"])


@every_model
def test_the_best_validated_state_is_restored(case: ModelCase, validations: Validations) -> None:
    validations.script = [0.1, 0.7, 0.3]
    model, run = _refreshed(case)
    assert (run.best_epoch, run.epochs, run.stopped_early) == (4, 6, False)
    assert run.validations == [(2, 0.1), (4, 0.7), (6, 0.3)]
    assert_same_vectors(model, validations.states[1])
    assert not torch.equal(model.tables["entity"], validations.states[2]["entity"])


def test_the_state_before_the_first_epoch_is_no_candidate(validations: Validations) -> None:
    validations.script = [0.0, 0.0, 0.0]
    model, run = _refreshed(CASES[0])
    assert run.best_epoch == 2
    assert len(validations.states) == 3
    assert not torch.equal(model.tables["entity"], _model(CASES[0]).tables["entity"])


def test_updating_stops_when_patience_ends(validations: Validations) -> None:
    validations.script = [0.5, 0.6, *[0.6] * 10]
    update = replace(BRIEF, general_epochs=100, patience=3)
    model, run = _refreshed(CASES[0], update)
    assert (run.best_epoch, run.epochs, run.stopped_early) == (4, 10, True)
    assert torch.equal(model.tables["entity"], validations.states[1]["entity"])


def test_the_last_state_stays_if_validation_is_switched_off(validations: Validations) -> None:
    _, run = _refreshed(CASES[0], replace(BRIEF, validate_every=0))
    assert not validations.states
    assert (run.epochs, run.best_epoch, run.validations) == (6, None, [])


def test_the_last_state_stays_if_there_is_nothing_to_validate_on(
    validations: Validations,
) -> None:
    new = Version(train=NEW.train, test=NEW.validation + NEW.test)
    problem = new.problem(_settings(CASES[0]))
    run = refresh(_model(CASES[0], new), OLD.change_to(new), problem, Cost())
    assert not validations.states
    assert (run.epochs, run.best_epoch) == (6, None)


def test_every_epoch_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    problem = NEW.problem(_settings(CASES[0]))
    refresh(_model(CASES[0]), CHANGE, problem, Cost(), lambda *step: told.append(step))
    assert told == [("updating", epoch, 6) for epoch in range(1, 7)]


@every_model
def test_costs_stay_within_the_bounds_of_the_theorems(case: ModelCase) -> None:
    cost = Cost()
    _refreshed(case, cost=cost)
    added, deleted = CHANGE.counts().added_triples[0], CHANGE.counts().deleted_triples[0]
    bound = 2 * 2 * (added + deleted) + 4 * 2 * len(NEW.train)
    assert 0 < cost.score_evaluations <= bound
    elements = len(NEW.active.entities) + len(NEW.active.relations)
    assert 0 < cost.gradient_steps <= elements * (2 + 4 * 3)


def test_a_change_epoch_costs_two_scores_for_each_triple_used() -> None:
    cost = Cost()
    _refreshed(CASES[0], UpdateSettings(change_epochs=1, general_epochs=0), cost=cost)
    assert cost.score_evaluations == 2 * (3 + 1)


def test_a_version_that_trains_on_nothing_keeps_its_vectors() -> None:
    """All that is left may be held out, while deleted training triples still have their terms."""
    new = Version(train=(), validation=((2, 1, 0),), test=((0, 0, 2),))
    old = Version(train=((0, 0, 0), (2, 1, 2)), validation=((2, 1, 0),), test=((0, 0, 2),))
    model, before = _model(CASES[0], new), _model(CASES[0], new)
    refresh(model, old.change_to(new), new.problem(_settings(CASES[0])), Cost())
    assert torch.equal(model.tables["entity"], before.tables["entity"])


@every_model
def test_vectors_that_are_not_numbers_stop_the_update(case: ModelCase) -> None:
    model = _model(case)
    model.tables["relation"][:] = float("inf")
    with pytest.raises(TrainingError, match="learning rate"):
        refresh(model, CHANGE, NEW.problem(_settings(case)), Cost())
