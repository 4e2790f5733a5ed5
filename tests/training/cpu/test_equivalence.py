"""Both backends, from the same start, over the same pairs and batches: the same vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from kgsync.common.cost import Cost
from kgsync.errors import TrainingError
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model
from kgsync.training.cpu.drawing import corruptions_of, draw_all
from kgsync.training.cpu.randomness import shuffle
from kgsync.training.cpu.trainer import CpuTrainer
from kgsync.training.torch_backend.trainer import Trainer
from tests.models.cases import CASES, EVERY_CASE, ModelCase

ENTITIES, RELATIONS, EDGES = 40, 4, 300
RATE = 0.05

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)


def some_triples(seed: int) -> TripleRows:
    random = np.random.default_rng(seed)
    sizes = (ENTITIES, RELATIONS, ENTITIES)
    return np.unique(np.stack([random.integers(0, n, EDGES) for n in sizes]), axis=1)


def twins(case: ModelCase) -> tuple[Model, Model]:
    """The same model twice; vectors long enough that margins are met by some pairs."""
    models = []
    for _ in range(2):
        model = case.random(ENTITIES, RELATIONS, dtype=torch.float32)
        for table in model.tables.values():
            table.mul_(3)
        models.append(model)
    return models[0], models[1]


def corrupted(true: TripleRows, seed: int) -> TripleRows:
    """Half of the triples with another head, half with another tail."""
    false, random = true.copy(), np.random.default_rng(seed)
    half = true.shape[1] // 2
    false[0, :half] = random.integers(0, ENTITIES, half)
    false[2, half:] = random.integers(0, ENTITIES, true.shape[1] - half)
    return false


def shuffled(true: TripleRows, seed: int) -> TripleRows:
    """Pairs that share nothing but by chance, as those of deleted and corrected triples."""
    return true[:, np.random.default_rng(seed).permutation(true.shape[1])]


@every_model
@pytest.mark.parametrize("pairing", [corrupted, shuffled])
def test_steps_over_the_same_pairs_give_the_same_vectors(
    case: ModelCase, pairing: Callable[[TripleRows, int], TripleRows]
) -> None:
    train = some_triples(0)
    slow, fast = twins(case)
    slow_cost, fast_cost = Cost(), Cost()
    by_torch = Trainer(slow, train, 1, np.random.default_rng(0), slow_cost)
    by_kernel = CpuTrainer(fast, train, 1, np.random.default_rng(0), fast_cost)
    for turn in range(3):
        false = pairing(train, turn)
        expected = by_torch._steps.step(train, false, RATE)
        found = by_kernel.step(train.T, false.T, RATE)
        assert found == pytest.approx(expected, rel=1e-5)
    for name, table in slow.tables.items():
        torch.testing.assert_close(fast.tables[name], table, rtol=1e-4, atol=1e-4)
    assert fast_cost.score_evaluations == slow_cost.score_evaluations
    assert 0 < fast_cost.gradient_steps <= slow_cost.gradient_steps


@every_model
def test_epochs_of_many_batches_of_wide_vectors_give_the_same_vectors(case: ModelCase) -> None:
    """Wide enough that the compiled loops take several numbers at a time."""
    width = 40 if case.settings.name == "rescal" else 100
    given = replace(case.settings, dimension=width, relation_dimension=0)
    slow, fast = twins(replace(case, settings=given))
    train, batches = some_triples(3), 7
    by_torch = Trainer(slow, train, 1, np.random.default_rng(0), Cost())
    by_kernel = CpuTrainer(fast, train, batches, np.random.default_rng(5), Cost())
    random, order = np.random.default_rng(5), np.arange(train.shape[1], dtype=np.int32)
    source = corruptions_of(train, ENTITIES, RELATIONS)
    for _ in range(3):
        order_key, seed = random.integers(2**63, size=2, dtype=np.uint64)
        shuffle(order, order_key)
        true = train[:, order]
        false = draw_all(np.ascontiguousarray(true.T, np.int32), source, seed).T.astype(np.int64)
        bounds = np.array_split(np.arange(len(order)), batches)
        expected = [by_torch._steps.step(true[:, at], false[:, at], RATE) for at in bounds]
        assert by_kernel.general_epoch(RATE) == pytest.approx(np.mean(expected), rel=1e-3)
    for name, table in slow.tables.items():
        torch.testing.assert_close(fast.tables[name], table, rtol=1e-3, atol=1e-3)


@every_model
def test_threads_share_batches_out_where_losses_are_summed(case: ModelCase) -> None:
    """With a whole batch each they would not see each other's steps."""
    summed = case.settings.name in ("transe", "transh", "transd")
    for threads in (1, 2, 3):
        _, model = twins(case)
        trainer = CpuTrainer(model, some_triples(3), 7, np.random.default_rng(5), Cost(), threads)
        assert len(trainer._bounds) - 1 == (7 * threads if summed else 7)


@every_model
def test_threads_see_the_same_batches(case: ModelCase) -> None:
    if case.settings.name == "transh":
        pytest.skip("its constraint counts once for every part of a batch")
    train, losses = some_triples(3), []
    for threads in (1, 2, 3):
        _, model = twins(case)
        trainer = CpuTrainer(model, train, 7, np.random.default_rng(5), Cost(), threads)
        losses.append(trainer.general_epoch(0.0))
    assert losses[1:] == pytest.approx([losses[0]] * 2, rel=1e-5)


@every_model
def test_untrained_elements_do_not_move(case: ModelCase) -> None:
    train = some_triples(1)
    train = train[:, (train[[0, 2]] != 7).all(axis=0) & (train[1] != 2)]
    false = train.copy()
    false[2] = 7
    _, model = twins(case)
    before = model.copy_tables()
    CpuTrainer(model, train, 1, np.random.default_rng(0), Cost()).step(train.T, false.T, RATE)
    for name in model.names("entity"):
        assert torch.equal(model.tables[name][7], before[name][7])
        assert not torch.equal(model.tables[name], before[name])
    for name in model.names("relation"):
        assert torch.equal(model.tables[name][2], before[name][2])


@every_model
def test_one_thread_gives_the_same_vectors_again(case: ModelCase) -> None:
    train = some_triples(2)
    first, second = twins(case)
    for model in (first, second):
        trainer = CpuTrainer(model, train, 7, np.random.default_rng(3), Cost())
        for _ in range(3):
            trainer.general_epoch(RATE)
    for name, table in first.tables.items():
        assert torch.equal(table, second.tables[name])


@every_model
def test_an_epoch_lowers_the_loss_with_one_thread_and_with_two(case: ModelCase) -> None:
    train = some_triples(4)
    for threads in (1, 2):
        _, model = twins(case)
        trainer = CpuTrainer(model, train, 10, np.random.default_rng(0), Cost(), threads)
        losses = [trainer.general_epoch(0.01) for _ in range(40)]
        assert np.mean(losses[-5:]) < np.mean(losses[:5])


@pytest.mark.parametrize("norm", ["l1", "l2", "l2sq"])
def test_steps_at_once_are_those_of_batches_of_one_pair(norm: str) -> None:
    case = next(c for c in CASES if (c.settings.name, c.settings.norm) == ("transe", norm))
    train = some_triples(8)
    alone, at_once = twins(case)
    count = train.shape[1]
    CpuTrainer(alone, train, count, np.random.default_rng(0), Cost()).general_epoch(RATE)
    CpuTrainer(at_once, train, 3, np.random.default_rng(0), Cost(), at_once=True).general_epoch(
        RATE
    )
    for name, table in alone.tables.items():
        torch.testing.assert_close(at_once.tables[name], table, rtol=1e-5, atol=1e-5)


def test_a_pair_left_out_is_neither_scored_nor_learnt() -> None:
    case = next(case for case in CASES if case.settings.name == "distmult")
    train = some_triples(5)
    whole, part = twins(case)
    false = corrupted(train, 0)
    half = train.shape[1] // 2
    CpuTrainer(whole, train, 1, np.random.default_rng(0), Cost()).step(
        train[:, :half].T, false[:, :half].T, RATE
    )
    false[:, half:] = -1
    cost = Cost()
    CpuTrainer(part, train, 1, np.random.default_rng(0), cost).step(train.T, false.T, RATE)
    assert cost.score_evaluations == 2 * half
    for name, table in whole.tables.items():
        assert torch.equal(table, part.tables[name])


def test_vectors_that_are_no_numbers_end_the_run() -> None:
    for name in ("transe", "distmult"):
        case = next(case for case in CASES if case.settings.name == name)
        _, model = twins(case)
        model.tables["entity"][3] = float("nan")
        trainer = CpuTrainer(model, some_triples(6), 2, np.random.default_rng(0), Cost())
        with pytest.raises(TrainingError, match="no longer finite"):
            trainer.general_epoch(RATE)


@pytest.mark.torture  # compiles for norms that no other test uses
def test_other_settings_of_margin_and_penalty_are_heeded() -> None:
    for case in CASES:
        settings = replace(case.settings, margin=3.0, l2_penalty=0.5)
        slow, fast = twins(replace(case, settings=settings))
        train = some_triples(7)
        false = corrupted(train, 1)
        Trainer(slow, train, 1, np.random.default_rng(0), Cost())._steps.step(train, false, RATE)
        CpuTrainer(fast, train, 1, np.random.default_rng(0), Cost()).step(train.T, false.T, RATE)
        for name, table in slow.tables.items():
            torch.testing.assert_close(fast.tables[name], table, rtol=1e-4, atol=1e-4)
