"""Training throughput: positive triples a second, one negative each, 4,832 a batch."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone, typical
from tests.benchmarks.training.clock import Clock, Enough
from tests.benchmarks.training.fb15k import load

__all__ = ["KGSYNC", "MODELS", "PAIR", "table", "train"]

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
_CASES = [(model, 1) for model in MODELS] + [("transe", 2)]
_WITH_TWO_THREADS = (KGSYNC, PAIR, PYKEEN)
_SLOW = 60.0


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
    """One row a model and contestant, each compared with kgsync's kernels."""
    rows = [["", "threads", "triples/s", "peak MB", "kgsync ÷ this", "a step a pair ÷ this"]]
    rates: dict[tuple[str, str, int], float] = {}
    for model, threads in _CASES:
        if model not in models:
            continue
        contestants = _WITH_TWO_THREADS if threads > 1 else tuple(_MODULES)
        present = [name for name in contestants if (name, model) not in _MISSING]
        found = _measure(work, present, model, threads, seconds, epochs, repeat)
        for name, run in found.items():
            first = [f"{model}, {name}", str(threads)]
            if run is None:
                rows.append([*first, "failed", "", "", ""])
                continue
            rates[name, model, threads] = run["rate"]
            cells = [f"{run['rate']:,.0f}", f"{run['peak']:,.0f}"]
            mine = [found.get(who) for who in (KGSYNC, PAIR)]
            ratios = [f"{other['rate'] / run['rate']:.1f}" if other else "" for other in mine]
            rows.append([*first, *cells, *ratios])
    pairs = [
        (name, rates.get((name, "transe", 1)), rates.get((name, "transe", 2)))
        for name in _WITH_TWO_THREADS
    ]
    scaling = "; ".join(f"{name} {two / one:.2f}" for name, one, two in pairs if one and two)
    said = f"\n\nTwo threads ÷ one, TransE: {scaling}." if scaling else ""
    title = f"Training throughput on FB15K: median of {repeat} runs of up to {epochs} epochs"
    return f"### {title}\n\n{aligned(rows)}{said}\n"


def _measure(
    work: Path,
    contestants: list[str],
    model: str,
    threads: int,
    seconds: float,
    epochs: int,
    repeat: int,
) -> dict[str, Numbers | None]:
    """Round after round, so that other load meets all alike; a slow or broken one runs once."""
    runs: dict[str, list[Numbers]] = {name: [] for name in contestants}
    tired: set[str] = set()
    for _ in range(repeat):
        for name in contestants:
            if name in tired:
                continue
            start = time.perf_counter()
            arguments = {"work": str(work), "contestant": name, "model": model}
            run = alone(train, threads, seconds=seconds, epochs=epochs, **arguments)
            if run:
                runs[name].append(run)
            if run is None or time.perf_counter() - start > _SLOW:
                tired.add(name)
    return {name: typical(found, "rate") if found else None for name, found in runs.items()}
