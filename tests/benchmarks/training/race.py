"""How good TransE is by the time PyKEEN has trained a few epochs."""

from __future__ import annotations

import time
from pathlib import Path

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone
from tests.benchmarks.training.fb15k import load
from tests.benchmarks.training.throughput import PYKEEN, train

__all__ = ["learn_for", "table"]

_RATE = 0.005
"""A fixed choice: the paper's 0.001 is meant for a thousand epochs."""


def learn_for(work: str, threads: int, seconds: float, tested: int) -> Numbers:
    """Train from random vectors, a step a pair, for so many seconds; rank test triples after."""
    from tests.benchmarks.training import ours

    graph = load(work)
    settings = ours.settings_for("transe", graph.batches, threads, "cpu", "pair")
    states = ours.trained(graph, settings, _RATE)
    trained = next(states)
    start, epochs = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        next(states)
        epochs += 1
    spent = time.perf_counter() - start
    found = ours.quality(graph, trained, tested)
    return {"seconds": spent, "epochs": epochs, "mrr": found.mrr, "hits": found.hits[10]}


def table(work: Path, threads: int, their_epochs: int, tested: int) -> str:
    """PyKEEN's epochs are timed first, with as many threads."""
    title = f"### TransE on FB15K in the time of {their_epochs} epochs of PyKEEN, {threads} threads"
    chosen = {"contestant": PYKEEN, "model": "transe"}
    theirs = alone(train, threads, work=str(work), seconds=60.0, epochs=3, **chosen)
    if theirs is None:
        return f"{title}\n\nFailed.\n"
    seconds = their_epochs * load(str(work)).train.shape[1] / theirs["rate"]
    ours = alone(learn_for, threads, work=str(work), seconds=seconds, tested=tested)
    if ours is None:
        return f"{title}\n\nFailed.\n"
    found = f"{ours['mrr']:.3f}", f"{ours['hits']:.3f}"
    rows = [
        ["", "epochs", "s", "filtered MRR", "Hits@10"],
        ["PyKEEN", f"{their_epochs}", f"{seconds:.1f}", "", ""],
        ["kgsync, a step a pair", f"{ours['epochs']:.0f}", f"{ours['seconds']:.1f}", *found],
    ]
    size = f"{tested:,}" if tested else "all"
    return f"{title}\n\n{aligned(rows)}\n\nLearning rate {_RATE}, {size} test triples.\n"
