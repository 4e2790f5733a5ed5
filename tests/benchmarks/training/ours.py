"""kgsync as a contestant, and the problems it works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from kgsync.common.cost import Cost
from kgsync.common.seeds import Seeds
from kgsync.config import (
    EvaluationSettings,
    ModelSettings,
    RunSettings,
    Settings,
    SplitSettings,
    TrainingSettings,
)
from kgsync.evaluation.ranking import LinkPrediction
from kgsync.graph.active import Active, TripleRows
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Split
from kgsync.graph.terms import TermIndex
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.training.backends import trainer_for, warm_up
from kgsync.training.problem import Problem
from kgsync.training.threads import use_threads
from tests.benchmarks.training.clock import Clock
from tests.benchmarks.training.fb15k import Fb15k

__all__ = [
    "Backend",
    "Steps",
    "fresh_model",
    "problem_of",
    "quality",
    "ranker",
    "settings_for",
    "train",
    "trained",
]

Backend = Literal["cpu", "torch"]
Steps = Literal["batch", "pair"]


def settings_for(
    model: str,
    batches: int = 100,
    threads: int = 1,
    backend: Backend = "cpu",
    steps: Steps = "batch",
) -> Settings:
    """The paper's defaults for a model; every held-out triple is ranked."""
    return Settings(
        split=SplitSettings(validation=0, test=0),
        model=ModelSettings(model),
        training=TrainingSettings(batches=batches, steps=steps),
        evaluation=EvaluationSettings(validation_sample=0, test_sample=0),
        run=RunSettings(threads=threads, backend=backend),
    )


def problem_of(graph: Fb15k, settings: Settings, tested: int = 0, seed: int = 0) -> Problem:
    """FB15K with its own split.

    Args:
        graph: The data.
        settings: What to do with it.
        tested: How many of the test triples are ranked; 0 for all.
        seed: Of the initial vectors.
    """
    parts = graph.train, graph.valid, graph.test[:, : tested or None]
    everything = _snapshot(graph.everything)
    # All elements live, also where only some of the training triples are used.
    ids = np.arange(graph.entities, dtype=np.int32), np.arange(graph.relations, dtype=np.int32)
    split, seeds = Split(*map(_snapshot, parts)), Seeds(seed, "benchmark")
    return Problem(Active(*ids), split, everything, TermIndex(), settings, seeds)


def fresh_model(problem: Problem) -> Model:
    """A model with random vectors."""
    chosen = problem.settings.model
    sizes = len(problem.active.entities), len(problem.active.relations)
    generator = problem.seeds.torch("initial vectors")
    return model_class(chosen.name).random(chosen, *sizes, generator)


def train(
    graph: Fb15k,
    model: str,
    threads: int,
    clock: Clock,
    backend: Backend = "cpu",
    steps: Steps = "batch",
) -> None:
    """General epochs until the clock has seen enough."""
    states = trained(graph, settings_for(model, graph.batches, threads, backend, steps))
    next(states)
    for _ in states:
        clock()


def trained(
    graph: Fb15k, settings: Settings, learning_rate: float = 0.0, seed: int = 0
) -> Iterator[Model]:
    """A model with random vectors, then again after every epoch; its own rate if none is given."""
    use_threads(settings.run.threads)
    warm_up(settings)
    problem = problem_of(graph, settings, seed=seed)
    model = fresh_model(problem)
    trainer = trainer_for(model, problem, np.random.default_rng(seed), Cost())
    yield model
    while True:
        trainer.general_epoch(learning_rate or model.info.learning_rate)
        yield model


def ranker(graph: Fb15k, model: str) -> Callable[[int], None]:
    """Ranks both sides of so many test triples, the index of known triples made anew."""
    use_threads(1)
    warm_up(settings_for(model))
    started = fresh_model(problem_of(graph, settings_for(model)))

    def rank(count: int) -> None:
        problem_of(graph, settings_for(model), count).test(started)

    return rank


def quality(graph: Fb15k, model: Model, tested: int) -> LinkPrediction:
    """Filtered link prediction on so many test triples; 0 takes all."""
    found = problem_of(graph, settings_for(model.settings.name), tested).test(model)
    assert found is not None
    return found


def _snapshot(rows: TripleRows) -> Snapshot:
    heads, relations, tails = rows.astype(np.int32)
    return Snapshot.of(heads, relations, tails)
