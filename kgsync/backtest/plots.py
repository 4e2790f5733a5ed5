"""Figures of a backtest: training of the first version, then the history, one panel per model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgsync.backtest.records import METHODS, Record
from kgsync.errors import ConfigError

__all__ = ["NO_FIGURES", "draw_figures"]

NO_FIGURES = "figures need matplotlib: pip install 'kgsync[plots]'"

_STYLES: dict[str, Any] = {"update": "-", "recalculate": "--", "leave": ":"}
_NAMES = {"update": "updated", "recalculate": "retrained", "leave": "frozen"}
_FIGURES = {
    "mrr": ("MRR", False),
    "hits_at_10": ("Hits@10", False),
    "nmc_entities": ("NMC of entities", True),
    "nmc_relations": ("NMC of relations", True),
    "seconds": ("seconds", False),
}
"""Measure -> its name, and whether a logarithmic axis suits it."""
_COLUMNS = 4


def draw_figures(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw one figure per measure.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(NO_FIGURES) from None
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for measure, (name, logarithmic) in _FIGURES.items():
        if all(getattr(record, measure) is None for record in records):
            continue
        figure = Figure(layout="constrained")
        _draw(figure, records, measure, name)
        for panel in figure.axes:
            panel.set_yscale("log" if logarithmic else "linear")
            panel.grid(visible=True, alpha=0.3)
            panel.spines[["top", "right"]].set_visible(False)
        handles = _legend(records, leaving=_shows_leaving(measure))
        figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
        paths.append(folder / f"{measure}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths


def _draw(figure: Any, records: Sequence[Record], measure: str, name: str) -> None:
    """Training in the first panel, then one panel per model.

    They share the y axis; of times only the panels of the history do.
    """
    models = _models(records)
    columns = min(1 + len(models), _COLUMNS)
    rows = -(-(1 + len(models)) // columns)
    figure.set_size_inches(max(10, 3.4 * columns), max(4, 3 * rows + 0.5))
    training, *panels = (figure.add_subplot(rows, columns, 1 + n) for n in range(1 + len(models)))
    _training(training, records, measure)
    training.set(xlabel="epoch", title="First version, validation")
    scale = panels[0] if measure == "seconds" else training
    for panel in (scale, *(training, *panels)[::columns]):
        panel.set_ylabel(name)
    for number, (model, panel) in enumerate(zip(models, panels, strict=True)):
        if panel is not scale:
            panel.sharey(scale)
        _history(panel, [r for r in records if r.model == model], measure, f"C{number}")
        panel.set(xlabel="version", title=f"{model}: history")
        panel.xaxis.get_major_locator().set_params(integer=True)


def _training(panel: Any, records: Sequence[Record], measure: str) -> None:
    for number, model in enumerate(_models(records)):
        for record in records:
            if record.model == model and record.method == "train":
                moments = [m for m in record.moments if getattr(m, measure) is not None]
                values = [getattr(moment, measure) for moment in moments]
                panel.plot([m.epoch for m in moments], values, color=f"C{number}")


def _history(panel: Any, records: Sequence[Record], measure: str, color: str) -> None:
    """The lines of one model, whose records these are."""
    for method in METHODS:
        found = [r for r in records if r.method in ("train", method)]
        points = [(r.version, getattr(r, measure)) for r in found]
        points = [(version, value) for version, value in points if value is not None]
        if method == "leave" and not _shows_leaving(measure):
            continue
        if any(r.method == method for r in found) and points:
            lines = zip(*points, strict=True)
            panel.plot(*lines, _STYLES[method], color=color, marker=".", markersize=4)


def _shows_leaving(measure: str) -> bool:
    """Whether to show the frozen baseline: not for time and movement, which are zero for it."""
    return not measure.startswith(("nmc", "seconds"))


def _legend(records: Sequence[Record], *, leaving: bool) -> list[Any]:
    """One colour per model, one line style per method."""
    from matplotlib.lines import Line2D

    used = {record.method for record in records} - ({"train"} if leaving else {"train", "leave"})
    colors = [
        Line2D([], [], color=f"C{n}", marker="o", linestyle="", label=model)
        for n, model in enumerate(_models(records))
    ]
    styles = [
        Line2D([], [], color="black", linestyle=_STYLES[method], label=_NAMES[method])
        for method in METHODS
        if method in used
    ]
    return colors + styles


def _models(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.model for record in records))
