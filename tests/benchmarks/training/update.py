"""A Higgs-sized update: 4.7 M edges, 277 k entities, TransE, 180 general and 20 change epochs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone

if TYPE_CHECKING:
    from tests.benchmarks.training.ours import Steps

__all__ = ["table", "update"]

_EDGES, _ENTITIES, _RELATIONS = 4_700_000, 277_000, 4
_GENERAL, _CHANGE = 180, 20
_PAPER = 1981.0


def update(
    edges: int, entities: int, threads: int, share: float, old_epochs: int, steps: Steps
) -> Numbers:
    """Train an old version a little, then update it as kgsync does, without validation."""
    import numpy as np

    from kgsync.common.cost import Cost
    from kgsync.graph.change import ChangeSet
    from kgsync.graph.split import Splitter
    from kgsync.training.backends import trainer_for, warm_up
    from kgsync.training.initial.vectors import carry_over, initialize
    from kgsync.training.threads import use_threads
    from kgsync.training.updates.paper import refresh
    from tests.benchmarks.training import ours, synthetic

    use_threads(threads)
    base = ours.settings_for("transe", threads=threads, steps=steps)
    settings = replace(
        base,
        update=replace(
            base.update,
            general_epochs=max(1, round(_GENERAL * share)),
            change_epochs=max(1, round(_CHANGE * share)),
        ),
    )
    terms = synthetic.terms_of(entities, _RELATIONS)
    before, after = synthetic.next_version(edges, entities, _RELATIONS)
    old = synthetic.problem_of(before, terms, settings, "1")
    trained = ours.fresh_model(old)
    warm_up(settings)
    trainer = trainer_for(trained, old, np.random.default_rng(0), Cost())
    for _ in range(old_epochs):
        trainer.general_epoch(trained.info.learning_rate)
    del trainer
    times = [time.perf_counter()]
    change = ChangeSet.between(before, after, terms, Splitter(0, 0))
    new = synthetic.problem_of(after, terms, settings, "2")
    times.append(time.perf_counter())
    model = carry_over(trained, old.active, new)
    initialize(model, old.active, new, Cost())
    times.append(time.perf_counter())
    refresh(model, change, new, Cost())
    times.append(time.perf_counter())
    changed, starts, refreshed = np.diff(times).tolist()
    return {
        "change": changed,
        "starts": starts,
        "refresh": refreshed,
        "added": len(change.added_triples),
        "deleted": len(change.deleted_triples),
        "newcomers": len(change.added_entities),
        "edges": len(after),
        "entities": len(new.active.entities),
    }


def table(size: float, share: float, threads: int, old_epochs: int, steps: Steps) -> str:
    """Seconds of each phase."""
    arguments: dict[str, Any] = {
        "edges": round(_EDGES * size),
        "entities": round(_ENTITIES * size),
        "share": share,
        "old_epochs": old_epochs,
        "steps": steps,
    }
    run = alone(update, threads, **arguments)
    title = f"### A Higgs-sized update: TransE, {_GENERAL} + {_CHANGE} epochs, {threads} threads"
    title += f", a step a {steps}"
    if size != 1:
        title += f" (only {size:.1%} of the size)"
    if run is None:
        return f"{title}\n\nFailed.\n"
    epochs = run["refresh"] / share
    total = run["change"] + run["starts"] + epochs
    label = "epochs, s" if share == 1 else f"epochs, s (EXTRAPOLATED from {share:.0%} of them)"
    head = [
        "",
        "change set, s",
        "initial vectors, s",
        label,
        "total, s",
        "peak MB",
        "1,981 s ÷ total",
    ]
    seconds = [run["change"], run["starts"], epochs, total]
    cells = [*(f"{value:,.1f}" for value in seconds), f"{run['peak']:,.0f}"]
    rows = [head, ["kgsync", *cells, f"{_PAPER / total:.1f}" if size == 1 else ""]]
    said = (
        f"{run['edges']:,.0f} edges, {run['entities']:,.0f} entities; {run['added']:,.0f} edges "
        f"added, {run['deleted']:,.0f} deleted, {run['newcomers']:,.0f} new entities; the old "
        f"version was trained for {old_epochs} epochs. The paper's update took 1,981 s on a V100."
    )
    return f"{title}\n\n{aligned(rows)}\n\n{said}\n"
