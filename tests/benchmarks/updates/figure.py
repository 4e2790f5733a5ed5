"""Quality against cost, of every method: overall, of added triples, and of deleted ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.updates.records import every_record
from tests.benchmarks.updates.summary import Rows, compared, contests, pooled

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
_TITLES = {"fb15k": "FB15K", "nomisma": "nomisma", "mathoverflow": "MathOverflow"}
_MODELS = {"transe": "TransE", "distmult": "DistMult"}
_LEAST = 1e-5
"""Where methods without any work are drawn."""


def draw(folder: Path, chains: Sequence[str], file: Path) -> None:
    """Draw a column of panels per chain and model, in one file.

    Args:
        folder: The records.
        chains: Those to draw.
        file: Where the figure goes.
    """
    from matplotlib.figure import Figure

    records = every_record(folder)
    shown = [(chain, model) for chain, model in contests(records) if chain in chains]
    shown = [each for each in shown if compared(records, *each)]
    figure = Figure(figsize=(2.9 * len(shown) + 0.6, 7.6), layout="constrained")
    panels = figure.subplots(len(_MEASURES), len(shown), sharex=True, sharey="row", squeeze=False)
    for column, (chain, model) in enumerate(shown):
        panels[0][column].set_title(
            f"{_TITLES.get(chain, chain)}, {_MODELS.get(model, model)}", fontsize=11
        )
        for method, pairs in compared(records, chain, model).items():
            if method in _METHODS:
                _draw(list(panels[:, column]), method, pairs)
        panels[-1][column].set_xlabel("work ÷ training from scratch")
    for row, name in enumerate(_MEASURES):
        panels[row][0].set_ylabel(f"MRR of {name}\n÷ training from scratch")
    for panel in panels.flat:
        panel.set_xscale("log")
        panel.axhline(1, color="black", linewidth=0.8, alpha=0.4)
        panel.grid(visible=True, alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    handles = {label: handle for panel in panels.flat for handle, label in _labelled(panel)}
    labels = [label for label, _, _ in _METHODS.values() if label in handles]
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
    )
    figure.savefig(file, dpi=120)


def _draw(panels: Sequence[Any], method: str, pairs: Rows) -> None:
    label, color, marker = _METHODS[method]
    work = max(
        _LEAST, float(np.mean([mine["scores"] / theirs["scores"] for mine, theirs in pairs]))
    )
    overall = float(np.mean([mine["mrr"] / theirs["mrr"] for mine, theirs in pairs]))
    values = [overall, pooled(pairs, "added"), pooled(pairs, "deleted")]
    for panel, value in zip(panels, values, strict=True):
        if value is not None:
            panel.plot([work], [value], marker, color=color, markersize=8, label=label)


def _labelled(panel: Any) -> Any:
    return zip(*panel.get_legend_handles_labels(), strict=True)
