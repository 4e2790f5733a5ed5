"""Plans, reports and histories as text."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from kgsync.cli.output import output

if TYPE_CHECKING:
    from kgsync.graph.change import ChangeCounts
    from kgsync.service.status import Status
    from kgsync.state.report import Plan, StepReport

__all__ = ["short_name", "show_history", "show_plan", "show_report", "show_status"]


def show_plan(found: Plan) -> None:
    """Print what the next step would do."""
    from kgsync.state.report import named_counts, waiting_line

    if found.graph_version is None:
        output.text("nothing to do: the embeddings are up to date")
    else:
        output.text(f"next: {found.graph_version} ({found.behind} to do, ordered by {found.order})")
        assert found.change is not None
        _show_change(found.change)
        if found.gathered:
            output.text(f"together with {', '.join(found.gathered)}")
        if found.waiting_until:
            output.text(waiting_line(found.change, found.waiting_until))
        output.text(f"found by {found.way}: {found.reason}")
        if found.caveat:
            output.text(f"note: {found.caveat}")
        if found.removed_share:
            output.text(f"removes {found.removed_share:.1%} of the current edges")
        if found.rejected:
            output.text(f"the next step would be rejected: {found.rejected}")
        if any(found.skipped.values()):
            output.text(f"not embedded: {named_counts(found.skipped)}")
    if found.passed_over:
        output.text(f"added late, will be skipped: {', '.join(found.passed_over)}")
    if found.empty:
        output.text(f"empty, will be skipped: {', '.join(found.empty)}")
    if found.pending:
        output.text(f"not issued yet: {', '.join(found.pending)}")
    for warning in found.warnings:
        output.text(f"warning: {warning}")


def show_status(found: Status, history: list[StepReport]) -> None:
    """Print the current version, the status of scheduled runs, and the history."""
    accepted = found.pause is not None and found.pause.accepted
    for line in found.run.lines(accepted=accepted) if found.run else ():
        output.text(line)
    told = found.run is not None and found.run.running and found.run.paused_since and not accepted
    if found.pause is not None and not told:
        output.text(str(found.pause))
    if found.version is None:
        running = found.run is not None and found.run.running
        remedy = "" if running else "; run kgsync step"
        output.text(f"no embeddings in {found.state} yet{remedy}")
        return
    assert found.model is not None
    output.text(f"version {found.version} of {found.graph_version}, committed {found.created}")
    output.text(f"{found.model['name']}, dimension {found.model['dimension']}")
    output.text(f"state {found.state}, files kept for versions {_join(found.retained)}")
    if found.damaged:
        output.text(
            f"warning: the manifests of versions {_join(found.damaged)} are damaged, so these "
            "versions are missing below; restore them from a backup"
        )
    show_history(history)


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
    _show_change(report.change)
    for line in report.summary():
        output.text(line)
    output.text(f"files: {report.files}")


def show_history(history: list[StepReport]) -> None:
    """Print one row per version: changes, quality, what was learned and kept, seconds."""
    rows = []
    for report in history:
        assert report.change is not None
        change = report.change
        rows.append(
            (
                str(report.version),
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


def _show_change(change: ChangeCounts) -> None:
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


def _join(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)
