"""Wide updates: every trained vector first becomes shorter, as much as the change demands."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kgsync import Settings
from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import TrainingSettings, UpdateSettings
from kgsync.training.initial.vectors import carry_over
from kgsync.training.updates import UpdateTask, strategy
from tests.models.cases import CASES
from tests.training.graphs import Triple, Version

CASE = next(case for case in CASES if case.name == "transe-l1")
RING: tuple[Triple, ...] = tuple((i, i % 2, (i + 1) % 40) for i in range(40))
OTHERS: tuple[Triple, ...] = tuple((i, i % 2, (i * 3 + 7) % 40) for i in range(40))


def _left(old: Version, new: Version) -> tuple[torch.Tensor, torch.Tensor]:
    """What is left of the vectors of entities if training itself moves them hardly at all."""
    settings = Settings(
        model=CASE.settings,
        training=TrainingSettings(epochs=8, batches=2, learning_rate=1e-12),
        update=UpdateSettings(strategy="wide", pretraining_epochs=0),
    )
    problem, active = new.problem(settings), old.active
    before = CASE.random(len(active.entities), len(active.relations), dtype=torch.float32)
    model = carry_over(before, active, problem)
    carried = model.copy_tables()["entity"]
    phases, change = Phases(SilentListener()), old.change_to(new)
    strategy("wide")(UpdateTask(model, active, change, problem, phases, Cost()))
    return carried, model.tables["entity"]


@pytest.mark.parametrize(
    ("new", "left"),
    [
        (Version(train=OTHERS), 0.5),  # everything has changed
        (Version(train=(*RING[2:], *OTHERS[:2])), 1 - 2 * 4 / 42),
        (Version(train=RING), 1.0),
    ],
)
def test_vectors_become_shorter_with_the_share_of_triples_that_changed(
    new: Version, left: float
) -> None:
    carried, after = _left(Version(train=RING), new)
    torch.testing.assert_close(after, left * carried)


def test_a_vector_without_a_training_triple_stays_as_it_is() -> None:
    old = Version(train=RING, validation=((0, 1, 40), (0, 1, 41)))
    new = replace(old, train=OTHERS)
    carried, after = _left(old, new)
    assert torch.equal(after[40:], carried[40:])
    torch.testing.assert_close(after[:40], 0.5 * carried[:40])
