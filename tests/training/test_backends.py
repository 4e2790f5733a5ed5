"""Which backend computes where, and that torch's way over a device changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from kgsync.common.cost import Cost
from kgsync.config import ModelSettings, RunSettings, Settings, UpdateSettings
from kgsync.errors import ConfigError
from kgsync.models.base import Model
from kgsync.training.backends import pretrainer_for, trainer_for, uses_kernels, warm_up
from kgsync.training.cpu.pretraining import CpuPretrainer
from kgsync.training.cpu.trainer import CpuTrainer
from kgsync.training.initial.evidence import KeyedNegatives
from kgsync.training.initial.vectors import carry_over, initialize
from kgsync.training.offline import train_offline
from kgsync.training.threads import on_threads
from kgsync.training.torch_backend.pretraining import Pretrainer
from kgsync.training.torch_backend.steps import moved
from kgsync.training.torch_backend.trainer import Trainer
from kgsync.training.updates.paper import refresh
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Version, ring

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)
with_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

OLD = Version(train=ring(12, 1, 5), validation=((0, 0, 3), (2, 1, 9)))
NEW = Version(
    train=(*ring(12, 1, 5), (0, 0, 20), (20, 1, 4), (20, 0, 21), (21, 2, 3), (5, 2, 6)),
    validation=OLD.validation,
)
TORCH = RunSettings(backend="torch")


def _settings(case: ModelCase, run: RunSettings) -> Settings:
    update = UpdateSettings(
        pretraining_epochs=5, change_epochs=2, general_epochs=4, validate_every=3
    )
    settings = Settings(model=case.settings, update=update, run=run)
    training = replace(settings.training, epochs=4, batches=5, validate_every=2)
    return replace(settings, training=training)


def _through(case: ModelCase, run: RunSettings) -> tuple[Model, Cost]:
    """Train on one version, then update to the next."""
    settings, cost = _settings(case, run), Cost()
    old, _ = train_offline(OLD.problem(settings), cost)
    problem = NEW.problem(settings)
    model = carry_over(old, OLD.active, problem)
    initialize(model, OLD.active, problem, cost)
    refresh(model, OLD.change_to(NEW), problem, cost)
    return model, cost


@pytest.mark.parametrize(
    ("run", "kernels"),
    [
        (RunSettings(), True),
        (RunSettings(backend="cpu"), True),
        (RunSettings(backend="torch"), False),
        (RunSettings(device="cpu:0"), False),
        (RunSettings(device="cuda"), False),
    ],
)
def test_kernels_compute_on_the_cpu_unless_torch_is_asked_for(
    run: RunSettings, kernels: bool
) -> None:
    assert uses_kernels(run, ModelSettings()) is kernels


def test_the_backend_trains_epochs_and_initial_vectors_alike() -> None:
    for run, classes in (
        (RunSettings(), (CpuTrainer, CpuPretrainer)),
        (TORCH, (Trainer, Pretrainer)),
    ):
        problem = OLD.problem(_settings(CASES[0], run))
        model = CASES[0].random(12, 2, dtype=torch.float32)
        negatives = KeyedNegatives(problem.train, np.arange(12), problem.hashes, 0)
        trainer = trainer_for(model, problem, np.random.default_rng(0), Cost())
        assert isinstance(trainer, classes[0])
        assert isinstance(pretrainer_for(model, problem, negatives, Cost()), classes[1])


@pytest.mark.parametrize(("triples", "threads"), [(24, 1), (3_999, 1), (4_000, 2), (9_000, 4)])
def test_little_work_is_left_to_fewer_threads(
    triples: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noting(work: Callable[[int], Any], count: int) -> list[Any]:
        asked.append(count)
        return on_threads(work, count)

    monkeypatch.setattr("kgsync.training.cpu.trainer.on_threads", noting)
    edges = tuple((i // 100, 0, i % 100) for i in range(triples))
    problem = Version(train=edges).problem(_settings(CASES[0], RunSettings(threads=64)))
    model = CASES[0].random(len(problem.active.entities), 1, dtype=torch.float32)
    trainer = trainer_for(model, problem, np.random.default_rng(0), Cost())
    trainer.general_epoch(0.1)
    assert asked == [threads]


@pytest.mark.parametrize("device", ["cuda", "cuda:99", "mps", "meta", "a toaster"])
def test_a_device_that_is_not_there_is_a_clear_error_before_any_work(device: str) -> None:
    if (device == "cuda" and torch.cuda.is_available()) or (
        device == "mps" and torch.backends.mps.is_available()
    ):
        pytest.skip("it is there")
    settings = _settings(CASES[0], RunSettings(device=device))
    with pytest.raises(ConfigError, match=rf"device '{device}' cannot .*; available: cpu"):
        warm_up(settings)
    with pytest.raises(ConfigError, match="available: cpu"):
        train_offline(OLD.problem(settings), Cost())


@every_model
def test_a_device_named_changes_nothing(case: ModelCase) -> None:
    warm_up(_settings(case, TORCH))
    plain, cost = _through(case, TORCH)
    named, named_cost = _through(case, replace(TORCH, device="cpu:0"))
    for name, table in plain.tables.items():
        assert torch.equal(table, named.tables[name])
    assert cost == named_cost


def test_a_model_that_is_there_already_is_not_copied() -> None:
    model = CASES[0].random(3, 1, dtype=torch.float32)
    for name, table in moved(model, "cpu").tables.items():
        assert table is model.tables[name]


@with_cuda
@every_model
def test_the_gpu_trains_as_the_cpu_does(case: ModelCase) -> None:
    here, cost = _through(case, TORCH)
    there, there_cost = _through(case, replace(TORCH, device="cuda"))
    for name, table in here.tables.items():
        assert there.tables[name].device.type == "cpu"
        torch.testing.assert_close(there.tables[name], table, rtol=1e-3, atol=1e-3)
    assert cost == there_cost
