"""A model that was registered from outside, and has no kernels, is trained by torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from kgsync import models
from kgsync.common.cost import Cost
from kgsync.config import ModelSettings, RunSettings, Settings, TrainingSettings
from kgsync.errors import ConfigError
from kgsync.models import MODELS, register, scorer
from kgsync.models.transe import MODEL, TransE
from kgsync.training.backends import trainer_for, uses_kernels, warm_up
from kgsync.training.offline import train_offline
from kgsync.training.torch_backend.trainer import Trainer
from tests.training.graphs import Version, ring

GRAPH = Version(train=ring(12, 1, 5), validation=((0, 0, 3), (2, 1, 9)))


class Toy(TransE):
    """Some model of somebody else."""


@pytest.fixture
def toy() -> Iterator[ModelSettings]:
    """The settings of a model that is there for one test."""
    register(replace(MODEL, name="toy", title="Toy", model=Toy, kernels=None, steps_by_pair=False))
    yield ModelSettings("toy", 4)
    models._family.remove("toy")


def test_torch_trains_it_where_kernels_would(toy: ModelSettings) -> None:
    settings = Settings(model=toy, training=TrainingSettings(epochs=3, batches=4))
    assert not uses_kernels(settings.run, toy)
    warm_up(settings)
    problem = GRAPH.problem(settings)
    model, run = train_offline(problem, Cost())
    assert isinstance(model, Toy)
    assert run.epochs == 3
    trainer = trainer_for(model, problem, np.random.default_rng(0), Cost())
    assert isinstance(trainer, Trainer)
    scores = scorer(toy, {name: table.numpy() for name, table in model.tables.items()})
    assert len(scores.tails(0, 0)) == 12


def test_to_ask_for_its_kernels_is_a_clear_error(toy: ModelSettings) -> None:
    with pytest.raises(ConfigError, match="toy has no kernels for backend = 'cpu'"):
        Settings(model=toy, run=RunSettings(backend="cpu"))
    with pytest.raises(ConfigError, match="steps = 'pair' works only with TransE"):
        Settings(model=toy, training=TrainingSettings(steps="pair"))


def test_it_is_gone_after_the_test() -> None:
    assert "toy" not in MODELS
