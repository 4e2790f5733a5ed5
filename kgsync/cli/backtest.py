"""`kgsync backtest`: the paper's evaluation on your own graph history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kgsync.cli.output import output
from kgsync.config import load_settings
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.backtest.records import Method, Record
    from kgsync.backtest.summary import Summary

__all__ = ["run_backtest"]


def run_backtest(
    config: Path,
    out: Path,
    models: Sequence[str],
    methods: Sequence[str],
    first: int,
    last: int | None,
    *,
    plots: bool | None,
) -> None:
    """Run or continue a backtest and print its results."""
    settings = load_settings(config)
    if settings.source.store is None:
        raise ConfigError(f"{config} names no store; set source.store")
    from kgsync.training.threads import use_threads

    use_threads(settings.run.threads)  # before anything else loads torch
    from kgsync.backtest.plots import NO_FIGURES, draw_figures
    from kgsync.backtest.records import METHODS
    from kgsync.backtest.run import backtest
    from kgsync.backtest.summary import summarize

    can_draw = find_spec("matplotlib") is not None
    if plots and not can_draw:
        raise ConfigError(NO_FIGURES)
    with output.listening() as listener:
        folder = backtest(
            settings.source.store,
            settings,
            out,
            models=models,
            methods=cast("Sequence[Method]", methods) or METHODS,
            first=first,
            last=last,
            listener=listener,
        )
    records = folder.records()
    summaries = summarize(records)
    for summary in summaries:
        output.heading(summary.model)
        output.table(_COLUMNS, [_row(r) for r in records if r.model == summary.model])
    output.heading("Updating compared with retraining")
    output.table(_SUMMARY_COLUMNS, [_summary_row(summary) for summary in summaries])
    output.text("\nMRR: updated ÷ retrained, mean; over frozen: updated ÷ frozen, last version.")
    output.text("NMC and time: retrained ÷ updated, median and total; higher is better.")
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
            "summary": [asdict(summary) for summary in summaries],
            "files": files,
        }
    )


_COLUMNS = [
    "version",
    "method",
    "MRR",
    "Hits@10",
    "accuracy",
    "NMC ent.",
    "NMC rel.",
    "epochs",
    "seconds",
]
_SUMMARY_COLUMNS = ["model", "MRR", "over frozen", "NMC ent.", "NMC rel.", "time"]


def _row(record: Record) -> list[str]:
    return [
        str(record.version),
        record.method,
        _number(record.mrr, 4),
        _number(record.hits_at_10, 3),
        _number(record.accuracy, 3),
        _small(record.nmc_entities),
        _small(record.nmc_relations),
        str(record.epochs),
        _number(record.seconds, 1),
    ]


def _summary_row(summary: Summary) -> list[str]:
    ratios = (
        summary.mrr,
        summary.mrr_over_leaving,
        summary.nmc_entities,
        summary.nmc_relations,
        summary.speed,
    )
    return [summary.model, *(_number(ratio, 2) for ratio in ratios)]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _small(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
