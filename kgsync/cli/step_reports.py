"""Reports of steps as text: one in full, or many as a history with one row each."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgsync.cli.output import output

if TYPE_CHECKING:
    from kgsync.graph.change import ChangeCounts
    from kgsync.state.report import StepReport

__all__ = ["short_name", "show_change", "show_history", "show_report"]


def show_report(report: StepReport) -> None:
    """Print what a step changed, its results, and where the files are."""
    if not report.changed:
        waits = report.action == "waiting"
        current = f"nothing new: version {report.version} is up to date"
        output.text(str(report) if waits else current)
        for warning in report.warnings:
            output.text(f"warning: {warning}")
        return
    output.heading(f"version {report.version}: {report.action} from {report.graph_version}")
    assert report.change is not None
    show_change(report.change)
    for line in report.summary():
        output.text(line)
    output.text(f"files: {report.files}")


def show_history(history: list[StepReport], current: int | None = None) -> None:
    """Print one row per version: changes, quality, what was learned and kept, seconds.

    Args:
        history: The reports.
        current: A version to mark.
    """
    rows = []
    for report in history:
        assert report.change is not None
        change = report.change
        rows.append(
            (
                f"{report.version} *" if report.version == current else str(report.version),
                short_name(report.graph_version),
                report.action,
                f"+{sum(change.added_triples):,} -{sum(change.deleted_triples):,}",
                f"+{change.added_entities:,} -{change.deleted_entities:,}",
                f"+{change.added_relations} -{change.deleted_relations}",
                _mrr(report.quality_before),
                _mrr(report.quality),
                f"{report.quality['hits@10']:.3f}" if report.quality else "-",
                _mrr(_group(report, "added")),
                _mrr(_group(report, "deleted")),
                f"{report.neighbors['overlap']:.1%}" if report.neighbors else "-",
                f"{sum(report.seconds.values()):.1f}",
            )
        )
    columns = [
        "version",
        "graph",
        "action",
        "triples",
        "entities",
        "relations",
        "MRR before",
        "after",
        "Hits@10",
        "learned",
        "forgotten",
        "neighbors",
        "seconds",
    ]
    output.table(
        columns,
        rows,
        spare=[
            "forgotten",
            "learned",
            "neighbors",
            "relations",
            "entities",
            "Hits@10",
            "seconds",
            "MRR before",
        ],
        shorten=["graph"],
    )
    if current is not None:
        output.text("* the current version")


def show_change(change: ChangeCounts) -> None:
    """Print what was added and deleted, by kind."""
    rows = [(what, f"+{a:,}", f"-{d:,}") for what, a, d in change.rows()]
    output.table(["", "added", "deleted"], rows)


def _group(report: StepReport, name: str) -> dict[str, Any] | None:
    """How a group of triples around the change ranks."""
    found: dict[str, Any] | None = (report.learned or {}).get("groups", {}).get(name)
    return found


def _mrr(quality: dict[str, Any] | None) -> str:
    return f"{quality['mrr']:.3f}" if quality else "-"


def short_name(name: str | None) -> str:
    """The end of an IRI; of a live graph the time it was fetched, to the minute."""
    try:
        return datetime.fromisoformat(name or "").strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return (name or "").rstrip("/#").rpartition("/")[2]
