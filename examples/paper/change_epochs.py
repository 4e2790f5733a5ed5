"""Change-specific epochs: their effect on quality, stability and forgetting.

One update with 0, 20 and 40 change-specific epochs at the same total, from the same model, with
several seeds. The filtered ranks of deleted training triples whose terms are still active show how
well the update forgets them: higher is better.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from history import Stage, first_model, options, read_csv, stages, tested, with_update, write_csv

from kgsync.common.cost import Cost
from kgsync.config import Settings
from kgsync.evaluation.ranking import KnownTriples, ranks
from kgsync.evaluation.stability import model_change
from kgsync.graph.split import Part
from kgsync.models.base import Model
from kgsync.training.initial.vectors import carry_over, initialize
from kgsync.training.problem import Problem
from kgsync.training.updates.paper import refresh


def main() -> None:
    """Update with every mix and seed, and print the results."""
    parser = options(__doc__)
    parser.add_argument("--total", type=int, default=200, help="epochs of an update")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--deleted", type=int, default=2000, help="deleted triples to rank")
    given = parser.parse_args()
    old, new = stages(given.config, 1)
    first = first_model(old, given.config, given.out)
    table = given.out / "change_epochs.csv"
    rows = read_csv(table)
    for seed in range(given.seeds):
        for share in (0.0, 0.1, 0.2):
            epochs = round(given.total * share)
            if any((row["change_epochs"], row["seed"]) == (epochs, seed) for row in rows):
                continue  # already done before an interruption
            settings = with_update(
                given.config, change_epochs=epochs, general_epochs=given.total - epochs
            )
            settings = replace(settings, run=replace(settings.run, seed=seed))
            row = {"change_epochs": epochs, "seed": seed}
            rows.append(row | _update(first, old, new, settings, given.deleted))
            print(rows[-1], flush=True)
            write_csv(table, rows)
    for epochs in sorted({row["change_epochs"] for row in rows}):
        chosen = [row for row in rows if row["change_epochs"] == epochs]
        means = {key: fmean(row[key] for row in chosen) for key in chosen[0] if key != "seed"}
        print({key: float(f"{value:.5g}") for key, value in means.items()})


def _update(first: Model, old: Stage, new: Stage, settings: Settings, count: int) -> dict[str, Any]:
    problem = new.problem(settings)
    model = carry_over(first, old.active, problem)
    initialize(model, old.active, problem, Cost())
    refresh(model, new.reading.change, problem, Cost())
    quality = tested(model, problem)
    random = np.random.default_rng(0)
    change = model_change(first, old.active, model, problem.active, random, sample=1000)["entity"]
    assert change is not None
    forgotten = _ranks_of_deleted(model, new, problem, count)
    return {
        "mrr": quality.mrr,
        "hits@10": quality.hits[10],
        "mr": quality.mr,
        "nmc_entities": change.nmc,
        "deleted": len(forgotten),
        "deleted_mean_rank": float(forgotten.mean()),
        "deleted_median_rank": float(np.median(forgotten)),
    }


def _ranks_of_deleted(model: Model, new: Stage, problem: Problem, count: int) -> Any:
    """Filtered ranks, on both sides, of a fixed sample of deleted triples with active terms."""
    _, deleted = new.reading.change.part(Part.TRAIN)
    rows = problem.active.rows(deleted.where(problem.active.all_active(deleted)))
    chosen = np.random.default_rng(0).permutation(rows.shape[1])[:count]
    true = np.concatenate([problem.active.rows(problem.edges), rows], axis=1)
    known = KnownTriples(true)
    memory = problem.settings.evaluation.memory_mb
    sides = [ranks(model, rows[:, chosen], known, side, memory) for side in ("head", "tail")]
    return np.concatenate(sides)


if __name__ == "__main__":
    main()
