"""Slowing down on a plateau, keeping the best state, giving up."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.evaluation.ranking import LinkPrediction
from kgsync.training.progress import BestState, Plateau, TrainingRun
from tests.models.cases import CASES, assert_same_vectors


def quality(hits_at_10: float) -> LinkPrediction:
    """A validation result of which only Hits@10 matters."""
    hits = {1: 1 - hits_at_10, 3: 0.5, 10: hits_at_10, 100: 1.0}
    return LinkPrediction(
        1.0, 1 - hits_at_10, hits, triples=1, sampled_from=1, mrr_error=0.0, hits_at_10_error=0.0
    )


def _scales(losses: list[float]) -> list[float]:
    plateau = Plateau()
    scales = []
    for loss in losses:
        plateau.see(loss)
        scales.append(plateau.scale)
    return scales


def test_the_rate_stays_while_the_loss_falls() -> None:
    assert _scales([0.99**epoch for epoch in range(100)]) == [1.0] * 100


def test_the_rate_drops_after_twenty_epochs_without_a_fall() -> None:
    scales = _scales([1.0] * 61)
    assert scales[:20] == [1.0] * 20  # the first loss is the one to beat
    assert scales[20:40] == [0.95] * 20
    assert scales[40:60] == pytest.approx([0.95**2] * 20)
    assert scales[60] == pytest.approx(0.95**3)


def test_a_fall_below_half_a_percent_is_none() -> None:
    assert _scales([1.0, *[0.996] * 20])[-1] == 0.95
    assert _scales([1.0, *[0.994] * 20])[-1] == 1.0


def test_many_small_falls_count_together() -> None:
    """Each is measured against the last loss that counted as a fall."""
    losses = [1.0 - 0.0004 * epoch for epoch in range(100)]
    assert _scales(losses)[-1] == 1.0


def test_a_late_fall_starts_the_wait_anew() -> None:
    losses = [1.0] * 20 + [0.9] + [0.9] * 19
    assert _scales(losses) == [1.0] * 40
    assert _scales([*losses, 0.9])[-1] == 0.95


def test_a_loss_of_zero_is_a_plateau_like_any_other() -> None:
    assert _scales([1.0] + [0.0] * 21)[-1] == 0.95


@given(losses=st.lists(st.floats(0, 100), max_size=80))
@settings(deadline=None)
def test_the_rate_never_rises_and_drops_at_most_every_twenty_epochs(losses: list[float]) -> None:
    scales = [1.0, *_scales(losses)]
    assert all(after in (before, before * 0.95) for before, after in pairwise(scales))
    assert scales[-1] >= 0.95 ** (len(losses) // 20) - 1e-12


def test_backtracking_restores_the_best_state_to_the_bit() -> None:
    for case in CASES:
        model = case.random(6, 2)
        tables = dict(model.tables)
        best = BestState(model, 10, TrainingRun())
        states = []
        for epoch, hits in enumerate((0.2, 0.6, 0.4, 0.5)):
            for table in model.tables.values():
                table.add_(0.1)
            states.append(model.copy_tables())
            best.see(epoch, quality(hits))
        best.restore()
        assert_same_vectors(model, states[1])
        for name, table in model.tables.items():
            assert table is tables[name]  # in place: others may hold the table


def test_the_states_of_the_optimizer_go_back_with_the_vectors() -> None:
    model = CASES[0].random(6, 2)
    states = {name: torch.zeros_like(table) for name, table in model.tables.items()}
    best = BestState(model, 10, TrainingRun(), states=states)
    for epoch, hits in enumerate((0.2, 0.6, 0.4)):
        for state in states.values():
            state.add_(1)
        best.see(epoch, quality(hits))
    best.restore()
    assert all(torch.equal(state, torch.full_like(state, 2.0)) for state in states.values())


def test_without_a_validation_there_is_nothing_to_go_back_to() -> None:
    model = CASES[0].random(6, 2)
    best = BestState(model, 10, TrainingRun())
    model.tables["entity"].add_(1.0)
    now = model.copy_tables()
    best.restore()
    assert torch.equal(model.tables["entity"], now["entity"])


def test_a_model_that_never_hits_still_has_a_best_state() -> None:
    run = TrainingRun()
    best = BestState(CASES[0].random(6, 2), 10, run)
    best.see(10, quality(0.0))
    best.see(20, quality(0.0))
    assert run.best_epoch == 10


def test_hits_at_10_decides_and_the_first_of_equals_stays() -> None:
    run = TrainingRun()
    best = BestState(CASES[0].random(6, 2), 10, run)
    for epoch, hits in ((10, 0.3), (20, 0.5), (30, 0.5), (40, 0.4)):
        best.see(epoch, quality(hits))
    assert run.best_epoch == 20
    assert run.validations == [(10, 0.3), (20, 0.5), (30, 0.5), (40, 0.4)]


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_counts_validations_without_a_gain(patience: int) -> None:
    run = TrainingRun()
    best = BestState(CASES[0].random(6, 2), patience, run)
    assert not best.see(1, quality(0.5))
    stops = [best.see(2 + i, quality(0.5)) for i in range(patience)]
    assert stops == [False] * (patience - 1) + [True]
    assert run.stopped_early


def test_a_gain_renews_patience() -> None:
    run = TrainingRun()
    best = BestState(CASES[0].random(6, 2), 2, run)
    stops = [best.see(i, quality(hits)) for i, hits in enumerate((0.5, 0.4, 0.6, 0.5, 0.5))]
    assert stops == [False, False, False, False, True]
    assert run.best_epoch == 2
