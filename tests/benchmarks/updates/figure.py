"""Quality against cost, of every method: overall, of added triples, and of deleted ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.updates.records import every_record
from tests.benchmarks.updates.summary import Rows, by_version, compared, contests, pooled

__all__ = ["draw"]

_METHODS = {
    "frozen": ("no update", "0.5", "o"),
    "auto": ("auto", "C0", "D"),
    "local": ("local", "C9", "s"),
    "wide": ("wide", "C2", "^"),
    "paper": ("paper", "C1", "v"),
    "retrain": ("retrain (aligned)", "C4", "P"),
    "scratch": ("training from scratch", "black", "X"),
}
_MEASURES = ("test triples", "added triples", "deleted triples")
_TICKS = ((0.4, 0.6, 0.8, 1, 1.2), (0.25, 0.5, 1, 2), (0.01, 0.1, 1, 10, 100))
_TITLES = {
    "fb15k": "FB15K, changes of .1 to 5 %",
    "fb15k-growing": "FB15K, growing by 28 %",
    "nomisma": "nomisma, real changes",
    "mathoverflow": "MathOverflow, by time",
    "mathoverflow-coarse": "MathOverflow, by time, coarse",
}
_MODELS = {"transe": "TransE", "distmult": "DistMult"}
_LEAST = 1e-5
"""Where methods without any work are drawn."""


def draw(folder: Path, chains: Sequence[str], models: Sequence[str], file: Path) -> None:
    """Draw a row of panels per chain and model, in one file.

    Args:
        folder: The records.
        chains: Those to draw.
        models: Of these models.
        file: Where the figure goes.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    records = every_record(folder)
    shown = [each for each in contests(records) if each[0] in chains and each[1] in models]
    shown = [each for each in shown if compared(records, *each)]
    figure = Figure(figsize=(9.5, 1.9 * len(shown) + 0.8), layout="constrained")
    panels = figure.subplots(len(shown), len(_MEASURES), sharex=True, sharey="col", squeeze=False)
    for row, (chain, model) in enumerate(shown):
        title = f"{_TITLES.get(chain, chain)}; {_MODELS.get(model, model)}"
        panels[row][0].set_title(title, fontsize=10, loc="left")
        methods = compared(records, chain, model)
        whole = _versions(methods["scratch"])
        for method, pairs in methods.items():
            if method in _METHODS and _versions(pairs) == whole:  # others cannot be compared
                _draw(list(panels[row]), method, pairs)
        for panel, name in zip(panels[row], _MEASURES, strict=True):
            panel.set_ylabel(f"MRR of\n{name}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("work")
    for panel in panels.flat:
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_minor_formatter("")
        panel.axhline(1, color="black", linewidth=0.8, alpha=0.4)
        panel.grid(visible=True, alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    for panel, ticks in zip(panels[0], _TICKS, strict=True):
        panel.set_yticks(ticks)
    handles = {label: handle for panel in panels.flat for handle, label in _labelled(panel)}
    labels = [label for label, _, _ in _METHODS.values() if label in handles]
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
    )
    figure.suptitle("MRR and work, each ÷ that of training from scratch", fontsize=12)
    figure.savefig(file, dpi=110)


def _draw(panels: Sequence[Any], method: str, pairs: Rows) -> None:
    label, color, marker = _METHODS[method]
    work = max(
        _LEAST, float(np.mean([mine["scores"] / theirs["scores"] for mine, theirs in pairs]))
    )
    overall = float(np.mean(by_version(pairs, "mrr")))
    values = [overall, pooled(pairs, "added"), pooled(pairs, "deleted")]
    for panel, value in zip(panels, values, strict=True):
        if value is not None:
            panel.plot([work], [value], marker, color=color, markersize=8, label=label)


def _versions(pairs: Rows) -> set[int]:
    return {mine["version"] for mine, _ in pairs}


def _labelled(panel: Any) -> Any:
    return zip(*panel.get_legend_handles_labels(), strict=True)
