"""PyKEEN as a contestant: its own training loop and evaluator, on kgsync's optimisers and norms."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from pykeen import models
from pykeen.evaluation import RankBasedEvaluator
from pykeen.training import SLCWATrainingLoop, TrainingCallback
from pykeen.triples import CoreTriplesFactory

from kgsync.models import MODELS as OURS
from tests.benchmarks.training.clock import Clock, Enough
from tests.benchmarks.training.fb15k import BATCH, Fb15k

__all__ = ["MODELS", "metrics", "ranker", "train", "train_until"]

MODELS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "transe": (models.TransE, {"scoring_fct_norm": 1}),
    "distmult": (models.DistMult, {}),
    "transh": (models.TransH, {"scoring_fct_norm": 1}),
    "transd": (models.TransD, {"interaction_kwargs": {"p": 1, "power_norm": False}}),
    "rescal": (models.RESCAL, {}),
}
"""Losses, regularisers and constraints are PyKEEN's defaults for the model."""

_RANKED_AT_A_TIME = 32
"""What PyKEEN takes on a CPU if nothing is said."""


def train(graph: Fb15k, model: str, threads: int, clock: Clock) -> None:
    """One negative a positive from the basic sampler, until the clock has seen enough."""
    torch.set_num_threads(threads)
    triples = _factory(graph, graph.train)
    started = _model(triples, model)
    chosen = torch.optim.SGD if OURS[model].optimizer == "sgd" else torch.optim.Adagrad
    optimizer = chosen(started.get_grad_params(), lr=OURS[model].learning_rate)
    _fit(triples, started, optimizer, _Tick(clock))


def train_until(
    graph: Fb15k, threads: int, adam: bool, wanted: float, tested: int, seconds: float
) -> Mapping[str, float]:
    """Train TransE from scratch until it reaches an MRR, or for so many seconds.

    Args:
        graph: What to train on, and to test on.
        threads: Of torch.
        adam: Whether to take Adam at PyKEEN's own rate, instead of SGD at kgsync's.
        wanted: The MRR, on the first test triples.
        tested: How many of these.
        seconds: Processor time at most, without that of the evaluations.
    """
    torch.set_num_threads(threads)
    triples = _factory(graph, graph.train)
    started = _model(triples, "transe")
    rate = OURS["transe"].learning_rate
    parameters = started.get_grad_params()
    optimizer = torch.optim.Adam(parameters) if adam else torch.optim.SGD(parameters, lr=rate)
    watch = _Watch(graph, wanted, tested, seconds)
    with suppress(Enough):
        _fit(triples, started, optimizer, watch)
    return {"cpu_seconds": watch.spent, "epochs": watch.epochs, "mrr": watch.best}


def _fit(triples: Any, model: Any, optimizer: Any, callback: Any) -> None:
    """PyKEEN's own loop, until the callback raises `Enough`."""
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=triples,
        optimizer=optimizer,
        negative_sampler="basic",
        negative_sampler_kwargs={"num_negs_per_pos": 1},
        automatic_memory_optimization=False,
    )
    loop.train(
        triples,
        num_epochs=10**6,
        batch_size=BATCH,
        use_tqdm=False,
        pin_memory=False,
        callbacks=callback,
    )


class _Watch(TrainingCallback):  # type: ignore[misc]
    """Evaluates after more and more epochs; processor time of evaluations is not counted."""

    def __init__(self, graph: Fb15k, wanted: float, tested: int, seconds: float) -> None:
        super().__init__()
        self._graph, self._wanted, self._tested, self._seconds = graph, wanted, tested, seconds
        self.spent, self.epochs, self.best = 0.0, 0, 0.0
        self._since, self._next = time.process_time(), 10

    def post_epoch(self, epoch: int, epoch_loss: float, **_: Any) -> None:
        self.spent += time.process_time() - self._since
        self.epochs += 1
        late = self.spent >= self._seconds
        if self.epochs >= self._next or late:
            self._next = max(self._next + 10, round(1.1 * self._next))
            found = _evaluate(self._graph, self.model, self._tested, _RANKED_AT_A_TIME)
            self.best = max(self.best, found["mrr"])
        if late or self.best >= self._wanted:
            raise Enough
        self._since = time.process_time()


class _Tick(TrainingCallback):  # type: ignore[misc]
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def post_epoch(self, epoch: int, epoch_loss: float, **_: Any) -> None:
        self._clock()


def ranker(
    graph: Fb15k, model: str, at_a_time: int = _RANKED_AT_A_TIME
) -> Callable[[int], Mapping[str, float]]:
    """Ranks both sides of so many test triples."""
    torch.set_num_threads(1)
    started = _model(_factory(graph, graph.train), model)
    return lambda count: _evaluate(graph, started, count, at_a_time)


def metrics(
    graph: Fb15k, model: str, entity: np.ndarray, relation: np.ndarray, tested: int
) -> Mapping[str, float]:
    """MRR and Hits@10 of given vectors; ties count as the mean of the best and the worst rank."""
    torch.set_num_threads(1)
    started = _model(_factory(graph, graph.train), model)
    for table, given in (
        (started.entity_representations[0], entity),
        (started.relation_representations[0], relation),
    ):
        (weights,) = table.parameters()
        weights.data.copy_(torch.from_numpy(given).reshape(weights.shape))
    return _evaluate(graph, started, tested, _RANKED_AT_A_TIME)


def _evaluate(graph: Fb15k, model: Any, count: int, at_a_time: int) -> Mapping[str, float]:
    found = RankBasedEvaluator(filtered=True).evaluate(
        model,
        torch.from_numpy(graph.test.T[: count or None].copy()),
        batch_size=at_a_time,
        use_tqdm=False,
        additional_filter_triples=[
            torch.from_numpy(np.ascontiguousarray(part.T))
            for part in (graph.train, graph.valid, graph.test)
        ],
    )
    names = {"mrr": "inverse_harmonic_mean_rank", "hits@10": "hits_at_10"}
    return {
        ours: float(found.get_metric(f"both.realistic.{theirs}")) for ours, theirs in names.items()
    }


def _factory(graph: Fb15k, rows: np.ndarray) -> Any:
    return CoreTriplesFactory(
        torch.from_numpy(np.ascontiguousarray(rows.T)), graph.entities, graph.relations
    )


def _model(triples: Any, name: str) -> Any:
    chosen, arguments = MODELS[name]
    width = OURS[name].dimension
    return chosen(triples_factory=triples, embedding_dim=width, random_seed=0, **arguments)
