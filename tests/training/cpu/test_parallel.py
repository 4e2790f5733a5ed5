"""Two threads without locks learn as well as one: the same quality over many seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from kgsync.common.cost import Cost
from kgsync.config import ModelSettings, RunSettings, Settings, TrainingSettings
from kgsync.training.offline import train_offline
from tests.thinning import thinned
from tests.training.graphs import Version, grid

SEEDS = 12  # so many that five standard errors are below half of the mean
MOVES = (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (-1, 1)


def board() -> Version:
    """A board whose moves imply each other; every twelfth edge is held out.

    It is so large that the threads meet: an epoch takes ten times as long as to start them.
    """
    edges = grid(36, *MOVES)
    test = tuple(edges[::12])
    return Version(tuple(edge for edge in edges if edge not in set(test)), test=test)


def qualities(model: str, threads: int, steps: Literal["batch", "pair"]) -> np.ndarray:
    """MRR after the same epochs, for every seed."""
    found = []
    for seed in range(SEEDS):
        settings = Settings(
            model=ModelSettings(model, dimension=16),
            training=TrainingSettings(
                epochs=40,
                batches=20,
                steps=steps,
                learning_rate=0.05 if model.startswith("trans") else 0.1,
            ),
            run=RunSettings(threads=threads, backend="cpu"),
        )
        settings = replace(settings, evaluation=replace(settings.evaluation, test_sample=0))
        problem = board().problem(settings, seed=seed)
        trained, _ = train_offline(problem, Cost())
        quality = problem.test(trained)
        assert quality is not None
        found.append(quality.mrr)
    return np.array(found)


@pytest.mark.parametrize(
    ("model", "steps"),
    thinned(
        [
            ("transe", "batch"),
            ("transe", "pair"),
            ("transh", "batch"),
            ("distmult", "batch"),
            ("rescal", "batch"),
        ],
        lambda case: case == ("transe", "batch"),
    ),
)
def test_two_threads_are_as_good_as_one(model: str, steps: Literal["batch", "pair"]) -> None:
    one, two = qualities(model, 1, steps), qualities(model, 2, steps)
    assert one.mean() > 0.05  # far from chance: 1,296 entities
    error = np.sqrt((one.var(ddof=1) + two.var(ddof=1)) / SEEDS)
    assert abs(two.mean() - one.mean()) < 5 * error
    assert 5 * error < 0.5 * one.mean()  # a loss of half of it would be seen
