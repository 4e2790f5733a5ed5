"""Figures of a backtest: quality against cost, and each measure over the history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from kgsync.backtest.methods import FIRST, FROZEN, SCRATCH, first_among, is_first, rank_of
from kgsync.backtest.record import Record
from kgsync.backtest.summary import Summary, summarize
from kgsync.backtest.verdict import MEAN
from kgsync.errors import ConfigError

__all__ = ["NO_FIGURES", "draw_figures"]

NO_FIGURES = "figures need matplotlib: pip install 'kgsync[plots]'"

_MARKERS = "osD^vPX*"
_COLORS = [f"C{number}" for number in range(10) if number != 7]
"""Without gray, which is for the frozen baseline."""
_MEASURES: dict[str, tuple[str, Callable[[Record], float | None], bool]] = {
    "mrr": ("MRR", lambda record: record.mrr, False),
    "hits_at_10": ("Hits@10", lambda record: record.hits_at_10, False),
    "added": ("MRR of added triples", lambda record: record.group("added"), False),
    "deleted": ("MRR of deleted triples", lambda record: record.group("deleted"), False),
    "nmc_entities": ("NMC of entities", lambda record: record.nmc_entities, True),
    "nmc_relations": ("NMC of relations", lambda record: record.nmc_relations, True),
    "seconds": ("seconds", lambda record: record.seconds, False),
}
"""File -> the name of the measure, the measure, and whether a logarithmic axis suits it."""
_WITHOUT_FROZEN = "nmc_entities", "nmc_relations", "seconds"
"""Measures that are always zero for the frozen baseline."""
_OF_VALIDATIONS = "mrr", "hits_at_10", "nmc_entities", "nmc_relations", "seconds"
"""Measures that validations during training have as well."""
_COLUMNS = 4


def draw_figures(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw quality against cost, and one figure per measure.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(NO_FIGURES) from None
    folder.mkdir(parents=True, exist_ok=True)
    figures = {}
    if any(summary.ratios for summary in summarize(records)):
        figures["quality_and_cost"] = Figure(layout="constrained")
        _draw_quality_and_cost(figures["quality_and_cost"], records)
    for measure, (_, value, logarithmic) in _MEASURES.items():
        if any(value(record) is not None for record in records):
            figure = figures[measure] = Figure(layout="constrained")
            _draw(figure, records, measure)
            for panel in figure.axes:
                panel.set_yscale("log" if logarithmic else "linear")
    for name, figure in figures.items():
        for panel in figure.axes:
            panel.grid(visible=True, alpha=0.3)
            panel.spines[["top", "right"]].set_visible(False)
        figure.savefig(folder / f"{name}.png", dpi=150)
    return [folder / f"{name}.png" for name in figures]


def _draw_quality_and_cost(figure: Any, records: Sequence[Record]) -> None:
    """One panel per model, in it one point per method: its mean, with lines to its extremes."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    compared = [summary for summary in summarize(records) if summary.ratios]
    models = list(dict.fromkeys(summary.model for summary in compared))
    columns = min(len(models), _COLUMNS)
    rows = -(-len(models) // columns)
    figure.set_size_inches(max(7.0, 4.2 * columns), 3.6 * rows + 0.8)
    for number, model in enumerate(models):
        panel = figure.add_subplot(rows, columns, 1 + number)
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
        panel.xaxis.set_minor_locator(NullLocator())
        for limit, style in ((1.0, "-"), (MEAN, "--")):
            panel.axhline(limit, color="black", linewidth=0.8, linestyle=style, alpha=0.5)
        for summary in compared:
            if summary.model == model:
                _draw_point(panel, summary, records)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        panel.set(title=model, xlabel="score evaluations per version")
        if number % columns == 0:
            panel.set_ylabel("MRR ÷ retraining from scratch")
    handles = {label: handle for panel in figure.axes for handle, label in _labelled(panel)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False
    )


def _draw_point(panel: Any, summary: Summary, records: Sequence[Record]) -> None:
    """A method; one that costs nothing has no place on the axis, and becomes a band."""
    versions = {ratio.version for ratio in summary.ratios}
    work = [
        record.score_evaluations
        for record in records
        if (record.model, record.method) == (summary.model, summary.method)
        and record.version in versions
    ]
    values = [ratio.value for ratio in summary.ratios]
    mean, cost, color = fmean(values), fmean(work), _color(summary.method)
    if not cost:
        panel.axhspan(min(values), max(values), color=color, alpha=0.15, linewidth=0)
        label = f"{_label(summary)}, no cost"
        panel.axhline(mean, color=color, linestyle=":", label=label)
        return
    panel.errorbar(
        [cost],
        [mean],
        xerr=_spread(cost, [float(each) for each in work]),
        yerr=_spread(mean, values),
        color=color,
        marker=_MARKERS[rank_of(summary.method) % len(_MARKERS)],
        markersize=12 if summary.method == SCRATCH else 8,
        markerfacecolor="none" if summary.method == SCRATCH else color,
        elinewidth=1,
        linestyle="",
        label=_label(summary),
    )


def _spread(mean: float, values: Sequence[float]) -> list[list[float]]:
    """How far the extremes are from the mean, which may be rounded to lie outside of them."""
    return [[max(0.0, mean - min(values))], [max(0.0, max(values) - mean)]]


def _labelled(panel: Any) -> list[tuple[Any, str]]:
    return list(zip(*panel.get_legend_handles_labels(), strict=True))


def _label(summary: Summary) -> str:
    own = summary.strategy in (None, summary.method) or summary.method == "aligned"
    return summary.method if own else f"{summary.method} ({summary.strategy})"


def _draw(figure: Any, records: Sequence[Record], measure: str) -> None:
    """Training in the first panel if it was measured, then one panel per model.

    They share the y axis; of times only the panels of the history do.
    """
    models = list(dict.fromkeys(record.model for record in records))
    first = 1 if measure in _OF_VALIDATIONS else 0
    count = first + len(models)
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    figure.set_size_inches(max(10, 3.4 * columns), max(4, 3 * rows + 0.5))
    every = [figure.add_subplot(rows, columns, 1 + n) for n in range(count)]
    panels = every[first:]
    if first:
        _training(every[0], records, measure)
        every[0].set(xlabel="epoch", title="First version, validation")
    scale = panels[0] if measure == "seconds" else every[0]
    for panel in (scale, *every[::columns]):
        panel.set_ylabel(_MEASURES[measure][0])
    for model, panel in zip(models, panels, strict=True):
        if panel is not scale:
            panel.sharey(scale)
        _history(panel, [r for r in records if r.model == model], measure)
        panel.set(xlabel="version", title=f"{model}: history")
        panel.xaxis.get_major_locator().set_params(integer=True)
    handles = {label: handle for panel in panels for handle, label in _labelled(panel)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False
    )


def _training(panel: Any, records: Sequence[Record], measure: str) -> None:
    """One line per model and first version."""
    for record in records:
        if is_first(record.method):
            moments = [m for m in record.moments if getattr(m, measure) is not None]
            values = [getattr(moment, measure) for moment in moments]
            plain = record.method == FIRST
            label = (
                record.model
                if plain
                else f"{record.model}, {record.method.removeprefix(f'{FIRST}-')}"
            )
            panel.plot([m.epoch for m in moments], values, label=label)
    if panel.lines:
        panel.legend(fontsize="small", frameon=False)


def _history(panel: Any, records: Sequence[Record], measure: str) -> None:
    """The lines of one model, whose records these are."""
    value = _MEASURES[measure][1]
    firsts = {record.method for record in records if is_first(record.method)}
    methods = [m for m in dict.fromkeys(r.method for r in records) if not is_first(m)]
    for method in sorted(methods, key=rank_of):
        if method == FROZEN and measure in _WITHOUT_FROZEN:
            continue
        among = method, first_among(method, firsts)
        points = [(r.version, value(r)) for r in records if r.method in among]
        known = [point for point in points if point[1] is not None]
        if known:
            style = {FROZEN: ":", SCRATCH: "--"}.get(method, "-")
            panel.plot(
                *zip(*known, strict=True),
                style,
                color=_color(method),
                marker=".",
                markersize=4,
                label=method,
            )


def _color(method: str) -> str:
    fixed = {FROZEN: "dimgray", SCRATCH: "black"}
    return fixed.get(method, _COLORS[rank_of(method) % len(_COLORS)])
