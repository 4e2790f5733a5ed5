"""Training throughput: positive triples a second, one negative each, 4,832 a batch."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone, typical
from tests.benchmarks.training.clock import Clock, Enough
from tests.benchmarks.training.fb15k import load

__all__ = [
    "HEAD",
    "KGSYNC",
    "MODELS",
    "PAIR",
    "PYKEEN",
    "TITLE",
    "Contestant",
    "measure",
    "row",
    "table",
    "train",
]

KGSYNC, PAIR, TORCH, PYKEEN, TORCHKGE = (
    "kgsync",
    "kgsync, a step a pair",
    "kgsync, torch",
    "PyKEEN",
    "TorchKGE",
)
MODELS = ("transe", "distmult", "transh", "transd", "rescal", "analogy")
_MODULES: dict[str, tuple[str, dict[str, str]]] = {
    KGSYNC: ("ours", {}),
    PAIR: ("ours", {"steps": "pair"}),
    TORCH: ("ours", {"backend": "torch"}),
    PYKEEN: ("pykeen_", {}),
    TORCHKGE: ("torchkge_", {}),
}
_MISSING = {(PYKEEN, "analogy")} | {(PAIR, model) for model in MODELS if model != "transe"}
_SLOW = 60.0
HEAD = ["", "threads", "triples/s", "peak MB", "kgsync ÷ this", "a step a pair ÷ this"]
TITLE = "{} on FB15K: median of {} runs of up to {} epochs"

Contestant: TypeAlias = tuple[str, int]
"""Who, and on how many threads."""


def train(
    work: str, contestant: str, model: str, threads: int, seconds: float, epochs: int
) -> Numbers:
    """Train until the clock has seen enough."""
    graph, clock = load(work), Clock(seconds, epochs)
    # Each process imports its contestant alone: the others must not count as its memory.
    name, arguments = _MODULES[contestant]
    module = import_module(f"tests.benchmarks.training.{name}")
    with suppress(Enough):
        module.train(graph, model, threads, clock, **arguments)
    return {"rate": graph.train.shape[1] / clock.epoch}


def table(work: Path, models: Collection[str], seconds: float, epochs: int, repeat: int) -> str:
    """One row a model and contestant, on one thread, each compared with kgsync's kernels."""
    rows = [HEAD]
    for model in models:
        present = [(name, 1) for name in _MODULES if (name, model) not in _MISSING]
        found = measure(work, model, present, seconds, epochs, repeat)
        rows += [row(model, one, found) for one in present]
    return f"### {TITLE.format('Training throughput', repeat, epochs)}\n\n{aligned(rows)}\n"


def row(model: str, one: Contestant, found: dict[Contestant, Numbers]) -> list[str]:
    """What one has come to, beside kgsync on as many threads."""
    name, threads = one
    first, run = [f"{model}, {name}", str(threads)], found.get(one)
    if run is None:
        return [*first, "failed", "", "", ""]
    mine = [found.get((who, threads)) for who in (KGSYNC, PAIR)]
    ratios = [f"{other['rate'] / run['rate']:.1f}" if other else "" for other in mine]
    return [*first, f"{run['rate']:,.0f}", f"{run['peak']:,.0f}", *ratios]


def measure(
    work: Path,
    model: str,
    contestants: Collection[Contestant],
    seconds: float,
    epochs: int,
    repeat: int,
) -> dict[Contestant, Numbers]:
    """Round after round, so that other load meets all alike; a slow or broken one runs once."""
    runs: dict[Contestant, list[Numbers]] = {one: [] for one in contestants}
    tired: set[Contestant] = set()
    for _ in range(repeat):
        for one in contestants:
            if one in tired:
                continue
            start = time.perf_counter()
            name, threads = one
            arguments = {"work": str(work), "contestant": name, "model": model}
            run = alone(train, threads, seconds=seconds, epochs=epochs, **arguments)
            if run:
                runs[one].append(run)
            if run is None or time.perf_counter() - start > _SLOW:
                tired.add(one)
    return {one: typical(found, "rate") for one, found in runs.items() if found}
