"""Time and memory of an epoch as graphs grow: TransE, 100 numbers a vector."""

from __future__ import annotations

import gc
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING

from kgsync.common.memory import forget_peak, peak_mb, resident_mb
from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone
from tests.benchmarks.training.clock import Clock, Enough

if TYPE_CHECKING:
    from tests.benchmarks.training.ours import Steps

__all__ = ["epochs", "table"]

SIZES = ((500_000, 15_000), (5_000_000, 280_000), (20_000_000, 2_000_000))
_RELATIONS = 200
_MEGABYTE = 2**20


def epochs(edges: int, entities: int, threads: int, seconds: float, steps: Steps) -> Numbers:
    """Train on an invented graph; memory from the edges on, without the libraries."""
    import numpy as np

    from kgsync.common.cost import Cost
    from kgsync.graph.terms import TermIndex
    from kgsync.training.backends import trainer_for, warm_up
    from tests.benchmarks.training import ours, synthetic

    settings = ours.settings_for("transe", threads=threads, steps=steps)
    warm_up(settings)
    graph = synthetic.draw(edges, entities, _RELATIONS)
    gc.collect()
    forget_peak()
    before = resident_mb()
    problem = synthetic.problem_of(graph, TermIndex(), settings, "1")
    model = ours.fresh_model(problem)
    trainer = trainer_for(model, problem, np.random.default_rng(0), Cost())
    clock = Clock(seconds, 3)
    with suppress(Enough):
        while True:
            trainer.general_epoch(model.info.learning_rate)
            clock()
    vectors = sum(table.nbytes for table in model.tables.values()) / _MEGABYTE
    grown = peak_mb() - before
    return {"epoch": clock.epoch, "grown": grown, "vectors": vectors}


def table(share: float, seconds: float, threads: int) -> str:
    """One row a way of taking steps and a size."""
    head = ["a step a", "edges", "entities", "s an epoch", "edges/s", "MB in all", "MB vectors"]
    rows = [[*head, "vectors: bytes an entity", "rest: bytes an edge"]]
    for steps, (full_edges, full_entities) in product(("batch", "pair"), SIZES):
        edges, entities = round(full_edges * share), round(full_entities * share)
        run = alone(epochs, threads, seconds=seconds, steps=steps, edges=edges, entities=entities)
        first = [steps, f"{edges:,}", f"{entities:,}"]
        if run is None:
            rows.append([*first, "failed", "", "", "", "", ""])
            continue
        rest = (run["grown"] - run["vectors"]) * _MEGABYTE / edges
        cells = [f"{run['epoch']:.2f}", f"{edges / run['epoch']:,.0f}", f"{run['grown']:,.0f}"]
        each = run["vectors"] * _MEGABYTE / entities
        rows.append([*first, *cells, f"{run['vectors']:,.0f}", f"{each:.0f}", f"{rest:.0f}"])
    title = f"Growth: TransE, {_RELATIONS} relations, {threads} threads"
    return f"### {title}\n\n{aligned(rows)}\n"
