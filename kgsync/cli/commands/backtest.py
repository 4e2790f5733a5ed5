"""`kgsync backtest`: update strategies and retraining compared on your own graph history."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json
from kgsync.cli.output import output
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.backtest.record import Record
    from kgsync.backtest.summary import Summary

__all__ = ["COMMAND", "backtest"]

_WIDTH = 80


def backtest(
    config: Config = CONFIG,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("backtest"),
    models: Annotated[
        str | None,
        typer.Option(help="Models, separated by commas; default: the one in the settings."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas: update (as the settings say), frozen (no update), "
            "scratch (retraining from scratch), or update strategies by name: paper, local, wide, "
            "aligned (the strategy retrain), ...; default: update,frozen,scratch."
        ),
    ] = None,
    first: Annotated[int, typer.Option(help="First version, counted from 0.")] = 0,
    last: Annotated[int | None, typer.Option(help="Last version; default: the newest.")] = None,
    plots: Annotated[
        bool | None, typer.Option(help="Draw figures; default: if matplotlib is installed.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare update strategies, retraining and a frozen baseline over the versions of a graph.

    To continue an interrupted backtest, run it again with the same settings and folder.
    """
    output.json = json
    from kgsync.config import load_settings

    chosen_models, chosen_methods = _names("--models", models), _names("--methods", methods)
    settings = load_settings(config)
    if settings.source.store is None:
        raise ConfigError(f"{config} names no store; set source.store")
    from kgsync.training.threads import use_threads

    use_threads(settings.run.threads)  # before anything else loads torch
    from kgsync.backtest.methods import DEFAULT_METHODS
    from kgsync.backtest.plots import NO_FIGURES, draw_figures
    from kgsync.backtest.run import backtest as run_backtest
    from kgsync.backtest.summary import summarize
    from kgsync.backtest.verdict import verdict

    can_draw = find_spec("matplotlib") is not None
    if plots and not can_draw:
        raise ConfigError(NO_FIGURES)
    with output.listening() as listener:
        folder = run_backtest(
            settings.source.store,
            settings,
            out,
            models=chosen_models,
            methods=chosen_methods or DEFAULT_METHODS,
            first=first,
            last=last,
            listener=listener,
        )
    records = folder.records()
    summaries = [(summary, verdict(summary)) for summary in summarize(records)]
    _print(records, summaries)
    files = sorted(str(path) for path in out.glob("results.*"))
    if can_draw and plots is not False:
        files += [str(path) for path in draw_figures(records, out / "figures")]
    output.heading("Files")
    for file in files:
        output.text(f"  {file}")
    if plots is None and not can_draw:
        output.text(f"\n{NO_FIGURES}")
    output.data(
        {
            "records": [asdict(record) for record in records],
            "summary": [{**asdict(summary), "verdict": said} for summary, said in summaries],
            "files": files,
        }
    )


COMMAND = CommandDeclaration("backtest", backtest, place=4, panel=Panel.REPAIR)


def _names(option: str, text: str | None) -> list[str]:
    """The names in the value of an option; none if it is not given.

    Raises:
        ConfigError: It is given, but names nothing.
    """
    if text is None:
        return []
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"{option} is empty; give names separated by commas, or leave it out")
    return names


def _print(records: Sequence[Record], summaries: Sequence[tuple[Summary, str]]) -> None:
    """Every version of every model, then per model the methods and what they come to."""
    from kgsync.backtest.verdict import LIMITS

    for model in dict.fromkeys(record.model for record in records):
        output.heading(model)
        rows = [_row(record) for record in records if record.model == model]
        output.table(_COLUMNS, rows, spare=_SPARE)
    for model in dict.fromkeys(summary.model for summary, _ in summaries):
        output.heading(f"{model}: compared with retraining from scratch")
        own = [(summary, said) for summary, said in summaries if summary.model == model]
        rows = [_summary_row(summary) for summary, _ in own]
        output.table(_SUMMARY_COLUMNS, rows, spare=_SUMMARY_SPARE)
        output.text()
        for summary, said in own:
            _paragraph(f"{_name(summary)}: {said}{_chosen(summary)}", "  ")
    output.text()
    _paragraph(
        "MRR, worst, added, deleted, work (score evaluations) and CPU are ÷ those of retraining; "
        f"rewritten is the share of the entities' vectors that changed. {LIMITS}"
    )


_COLUMNS = [
    "version",
    "method",
    "MRR",
    "±",
    "added",
    "deleted",
    "rewritten",
    "neighbors",
    "NMC ent.",
    "scores",
    "CPU s",
]
_SPARE = ["NMC ent.", "neighbors", "±"]
_SUMMARY_COLUMNS = [
    "method",
    "MRR",
    "worst",
    "added",
    "deleted",
    "rewritten",
    "neighbors",
    "work",
    "CPU",
]
_SUMMARY_SPARE = ["neighbors", "CPU"]


def _row(record: Record) -> list[str]:
    chosen = f" ({record.choice['strategy']})" if record.choice else ""
    overlap = record.neighbors["overlap"] if record.neighbors else None
    return [
        str(record.version),
        f"{record.method}{chosen}",
        _number(record.mrr, 4),
        _number(record.mrr_error, 4),
        _number(record.group("added"), 3),
        _number(record.group("deleted"), 3),
        _percent(record.rewritten_entities),
        _percent(overlap),
        _small(record.nmc_entities),
        _small(float(record.score_evaluations)),
        _number(record.cpu_seconds, 1),
    ]


def _summary_row(summary: Summary) -> list[str]:
    return [
        _name(summary),
        _percent(summary.mrr),
        _percent(summary.worst),
        _percent(summary.added),
        _percent(summary.deleted),
        _percent(summary.rewritten),
        _percent(summary.neighbors),
        _percent(summary.work),
        _percent(summary.cpu),
    ]


def _name(summary: Summary) -> str:
    """The method; of `update` also what the settings say."""
    return f"update ({summary.strategy})" if summary.method == "update" else summary.method


def _chosen(summary: Summary) -> str:
    if not summary.chosen:
        return ""
    told = ", ".join(f"{name} {count}×" for name, count in summary.chosen.items())
    return f" (chose {told})"


def _paragraph(text: str, indent: str = "") -> None:
    for line in textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False):
        output.text(line)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _small(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
