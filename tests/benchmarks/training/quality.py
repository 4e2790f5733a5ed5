"""What the speed is worth: link prediction on FB15K after the same epochs, over several seeds."""

from __future__ import annotations

import time
from collections.abc import Collection
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone
from tests.benchmarks.training.fb15k import load

if TYPE_CHECKING:
    from tests.benchmarks.training.ours import Backend, Steps

__all__ = ["learn", "table"]

_WAYS = (
    ("torch", "batch", 1),
    ("cpu", "batch", 1),
    ("cpu", "batch", 2),
    ("cpu", "pair", 1),
    ("cpu", "pair", 2),
)
"""Backend, steps, threads; the others are compared with the first."""


def learn(
    work: str,
    model: str,
    backend: Backend,
    steps: Steps,
    threads: int,
    epochs: int,
    rate: float,
    tested: int,
    seed: int,
) -> Numbers:
    """Train for so many epochs without validation, and rank test triples."""
    from tests.benchmarks.training import ours

    graph = load(work)
    settings = ours.settings_for(model, graph.batches, threads, backend, steps)
    states = ours.trained(graph, settings, rate, seed)
    trained = next(states)
    start = time.perf_counter()
    for _ in range(epochs):
        next(states)
    seconds = time.perf_counter() - start
    found = ours.quality(graph, trained, tested)
    return {"seconds": seconds, "mrr": found.mrr, "hits": found.hits[10]}


def table(
    work: Path, models: Collection[str], epochs: int, rate: float, tested: int, seeds: int
) -> str:
    """Both backends after the same epochs; the learning rate is the paper's unless one is given."""
    rows = [["", "threads", "s", "filtered MRR", "Hits@10", "MRR - torch's"]]
    for model in models:
        reference: list[float] = []
        for backend, steps, threads in _WAYS:
            if steps == "pair" and model != "transe":
                continue
            chosen: dict[str, Any] = {"backend": backend, "steps": steps, "rate": rate}
            chosen |= {"work": str(work), "model": model, "epochs": epochs, "tested": tested}
            runs = [alone(learn, threads, seed=seed, **chosen) for seed in range(seeds)]
            done = [run for run in runs if run]
            first = [f"{model}, {backend}, a step a {steps}", str(threads)]
            if not done:
                rows.append([*first, "failed", "", "", ""])
                continue
            found = {key: [run[key] for run in done] for key in ("mrr", "hits")}
            reference = reference or found["mrr"]
            seconds = f"{mean(run['seconds'] for run in done):.1f}"
            cells = [_told(mean(values), _deviation(values)) for values in found.values()]
            rows.append([*first, seconds, *cells, _difference(found["mrr"], reference)])
    size = f"{tested:,}" if tested else "all"
    rates = f"rate {rate}" if rate else "the paper's rates"
    title = f"Quality on FB15K after {epochs} epochs at {rates}, {size} test triples"
    said = f"Means over {seeds} seeds ± the deviation of one; differences ± their standard error."
    return f"### {title}\n\n{aligned(rows)}\n\n{said}\n"


def _difference(ours: list[float], reference: list[float]) -> str:
    if ours is reference:
        return ""
    variances = [_deviation(values) ** 2 / len(values) for values in (ours, reference)]
    return _told(mean(ours) - mean(reference), sqrt(sum(variances)))


def _deviation(values: list[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def _told(value: float, error: float) -> str:
    return f"{value:.4f} ± {error:.4f}"
