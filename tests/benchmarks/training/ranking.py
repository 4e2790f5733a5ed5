"""Filtered ranking: test triples a second, both sides, and whether the metrics are the same."""

from __future__ import annotations

import time
from collections.abc import Collection
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone, typical
from tests.benchmarks.training.fb15k import load

__all__ = ["our_metrics", "rank", "table", "their_metrics"]

MODELS = ("transe", "distmult", "transh", "transd", "rescal", "analogy")
_CONTESTANTS: dict[str, tuple[str, dict[str, int]]] = {
    "kgsync": ("ours", {}),
    "PyKEEN": ("pykeen_", {}),
    "PyKEEN, 8 at a time": ("pykeen_", {"at_a_time": 8}),
    "TorchKGE": ("torchkge_", {}),
}
"""Module and arguments. PyKEEN's own choice of 32 is not the fastest."""
_MISSING = {("PyKEEN", "analogy"), ("PyKEEN, 8 at a time", "analogy")}
_CHECKED = ("transe", "distmult")
_FIRST = 32
_METRICS = ("mrr", "hits@10")


def rank(work: str, contestant: str, model: str, threads: int, seconds: float) -> Numbers:
    """Rank as many test triples as take about so many seconds."""
    assert threads == 1
    graph = load(work)
    module, arguments = _CONTESTANTS[contestant]
    found = import_module(f"tests.benchmarks.training.{module}")
    ranks = found.ranker(graph, model, **arguments)
    ranks(1)  # compiles, or allocates

    def timed(count: int) -> float:
        start = time.perf_counter()
        ranks(count)
        return time.perf_counter() - start

    # A call indexes all known triples, whatever it ranks: that time is told apart.
    fixed = min(timed(1), timed(1))
    count, spent = _FIRST, timed(_FIRST) - fixed
    while count < graph.test.shape[1] and spent < 0.5 * seconds:
        # Next to the fixed time the first ones take too little to tell by.
        wanted = min(16.0 * count, 0.8 * count * seconds / max(spent, 1e-3))
        count = min(graph.test.shape[1], max(2 * count, int(wanted)))
        spent = timed(count) - fixed
    return {"rate": (count - 1) / spent, "triples": count, "fixed": fixed}


def our_metrics(work: str, model: str, threads: int, epochs: int, tested: int) -> Numbers:
    """Train a little, keep the vectors for the others, and rank."""
    import numpy as np

    from tests.benchmarks.training import ours

    graph = load(work)
    states = ours.trained(graph, ours.settings_for(model, graph.batches, threads))
    *_, trained = islice(states, epochs + 1)
    tables = {name: table.numpy() for name, table in trained.tables.items()}
    np.savez(Path(work) / f"{model}.npz", allow_pickle=False, **tables)
    found = ours.quality(graph, trained, tested)
    return {"mrr": found.mrr, "hits@10": found.hits[10]}


def their_metrics(work: str, model: str, threads: int, tested: int) -> Numbers:
    """The same vectors, ranked by PyKEEN."""
    import numpy as np

    from tests.benchmarks.training import pykeen_

    assert threads == 1
    with np.load(Path(work) / f"{model}.npz") as saved:
        vectors = saved["entity"], saved["relation"]
    return dict(pykeen_.metrics(load(work), model, *vectors, tested))


def table(
    work: Path, models: Collection[str], seconds: float, repeat: int, tested: int, epochs: int
) -> str:
    """One row a model and contestant, and one a checked model."""
    rows = [["", "ranked", "triples/s", "fixed s", "peak MB", "kgsync ÷ this"]]
    for model in (model for model in MODELS if model in models):
        ours = 0.0
        for name in (name for name in _CONTESTANTS if (name, model) not in _MISSING):
            arguments: dict[str, Any] = {"work": str(work), "contestant": name, "model": model}
            runs = [alone(rank, seconds=seconds, **arguments) for _ in range(repeat)]
            done = [run for run in runs if run]
            if not done:
                rows.append([f"{model}, {name}", "", "failed", "", "", ""])
                continue
            run = typical(done, "rate")
            ours = run["rate"] if name == "kgsync" else ours
            counts = [f"{run[key]:,.0f}" for key in ("triples", "rate", "peak")]
            cells = [*counts[:2], f"{run['fixed']:.2f}", counts[2]]
            rows.append([f"{model}, {name}", *cells, f"{ours / run['rate']:.1f}" if ours else ""])
    title = f"Filtered ranking on FB15K, both sides, one thread: median of {repeat} runs"
    return f"### {title}\n\n{aligned(rows)}\n\n{_checks(work, models, tested, epochs)}\n"


def _checks(work: Path, models: Collection[str], tested: int, epochs: int) -> str:
    rows = [["", *(f"{name}, {who}" for name in _METRICS for who in ("kgsync", "PyKEEN"))]]
    for model in (model for model in _CHECKED if model in models):
        arguments: dict[str, Any] = {"work": str(work), "model": model, "tested": tested}
        ours = alone(our_metrics, epochs=epochs, **arguments)
        theirs = alone(their_metrics, **arguments) if ours else None
        if ours and theirs:
            cells = [f"{who[name]:.6f}" for name in _METRICS for who in (ours, theirs)]
            same = all(abs(ours[name] - theirs[name]) < 1e-6 for name in _METRICS)
            rows.append([f"{model}: {'the same' if same else 'not the same'}", *cells])
    said = (
        f"Metrics of the same vectors (kgsync's after {epochs} epochs) on {tested:,} test triples"
    )
    return f"{said}:\n\n{aligned(rows)}"
