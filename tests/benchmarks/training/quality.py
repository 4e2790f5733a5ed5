"""What the speed is worth: link prediction on FB15K after the same epochs, and after a while."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone
from tests.benchmarks.training.fb15k import load

if TYPE_CHECKING:
    from tests.benchmarks.training.ours import Backend, Steps

__all__ = ["learn", "table"]

_MODELS = ("transe", "distmult", "transh")
_WAYS = (
    ("cpu", "batch", 1),
    ("cpu", "batch", 2),
    ("cpu", "pair", 1),
    ("cpu", "pair", 2),
    ("torch", "batch", 1),
)
"""Backend, steps, threads."""


def learn(
    work: str,
    model: str,
    backend: Backend,
    steps: Steps,
    threads: int,
    epochs: int,
    rate: float,
    tested: int,
) -> Numbers:
    """Train for so many epochs without validation, and rank test triples."""
    import numpy as np

    from kgsync.evaluation.cost import Cost
    from kgsync.training.backends import trainer_for, warm_up
    from kgsync.training.threads import use_threads
    from tests.benchmarks.training import ours

    use_threads(threads)
    graph = load(work)
    settings = ours.settings_for(model, graph.batches, threads, backend, steps)
    warm_up(settings)
    problem = ours.problem_of(graph, settings)
    trained = ours.fresh_model(problem)
    start = time.perf_counter()
    trainer = trainer_for(trained, problem, np.random.default_rng(0), Cost())
    for _ in range(epochs):
        trainer.general_epoch(rate or trained.info.learning_rate)
    seconds = time.perf_counter() - start
    found = ours.quality(graph, trained, tested)
    return {"seconds": seconds, "mrr": found.mrr, "hits": found.hits[10]}


def table(work: Path, models: Collection[str], epochs: int, rate: float, tested: int) -> str:
    """Both backends after the same epochs; the learning rate is the paper's unless one is given."""
    rows = [["", "threads", "s", "filtered MRR", "Hits@10"]]
    for model in (model for model in _MODELS if model in models):
        for backend, steps, threads in _WAYS:
            if steps == "pair" and model != "transe":
                continue
            chosen: dict[str, Any] = {"backend": backend, "steps": steps, "rate": rate}
            sizes = {"epochs": epochs, "tested": tested}
            run = alone(learn, threads, work=str(work), model=model, **chosen, **sizes)
            first = [f"{model}, {backend}, a step a {steps}", str(threads)]
            if run is None:
                rows.append([*first, "failed", "", ""])
                continue
            rows.append(
                [*first, f"{run['seconds']:.1f}", f"{run['mrr']:.4f}", f"{run['hits']:.4f}"]
            )
    size = f"{tested:,}" if tested else "all"
    rates = f"rate {rate}" if rate else "the paper's rates"
    title = f"Quality on FB15K after {epochs} epochs at {rates}, {size} test triples"
    return f"### {title}\n\n{aligned(rows)}\n"
