"""Initial vectors only: the initialisation of new elements, without update epochs afterwards.

The paper's figures on TransE's initialisation: MR and Hits@10 over the versions of a synthetic
history, for every initialisation method, with and without pre-training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from history import first_model, options, stages, tested, with_update, write_csv
from matplotlib.figure import Figure

from kgsync.common.cost import Cost
from kgsync.training.initial.vectors import carry_over, initialize

VARIANTS: dict[str, dict[str, Any]] = {
    "ran": {"initial_vectors": "random", "pretraining_epochs": 0},
    "ave": {"initial_vectors": "average", "pretraining_epochs": 0},
    "pos": {"initial_vectors": "best", "pretraining_epochs": 0},
    "neg": {"initial_vectors": "balance", "pretraining_epochs": 0},
    "neg2": {"initial_vectors": "jumps", "pretraining_epochs": 0},
    "ave + pre-training": {"initial_vectors": "average"},
    "pos + pre-training": {"initial_vectors": "best"},
}


def main() -> None:
    """Carry one model through the history with every method, and draw the results."""
    parser = options(__doc__)
    parser.add_argument("--last", type=int, default=19, help="last version")
    given = parser.parse_args()
    rows = []
    history = stages(given.config, given.last)
    stage = next(history)
    first = first_model(stage, given.config, given.out)
    models = dict.fromkeys(VARIANTS, first)
    quality = tested(first, stage.problem(given.config))
    rows += [{"variant": name, "version": 0, **quality.to_json()} for name in VARIANTS]
    before = stage.active
    for stage in history:
        for name, values in VARIANTS.items():
            problem = stage.problem(with_update(given.config, **values))
            models[name] = carry_over(models[name], before, problem)
            initialize(models[name], before, problem, Cost())
            quality = tested(models[name], problem)
            rows.append({"variant": name, "version": stage.number, **quality.to_json()})
            print(
                f"{stage.number:3} {name:20} MR {quality.mr:8.1f}  Hits@10 {quality.hits[10]:.4f}"
            )
        before = stage.active
        write_csv(given.out / "initial_vectors.csv", rows)
    draw(rows, given.out / "initial_vectors.png")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """MR and Hits@10 over the versions."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for panel, measure in zip(figure.subplots(1, 2), ("mr", "hits@10"), strict=True):
        for name in VARIANTS:
            points = [(row["version"], row[measure]) for row in rows if row["variant"] == name]
            panel.plot(*zip(*points, strict=True), marker=".", label=name)
        panel.set(xlabel="version", title={"mr": "MR", "hits@10": "Hits@10"}[measure])
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(visible=True, alpha=0.3)
    panel.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
