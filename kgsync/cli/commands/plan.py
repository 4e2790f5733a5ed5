"""`kgsync plan`: what the next step would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import show_change

if TYPE_CHECKING:
    from kgsync.state.report import Plan

__all__ = ["COMMAND"]


def plan(config: Config = CONFIG, json: Json = False) -> None:
    """Show what the next step would do, without changing anything."""
    output.json = json
    with opened_sync(config) as sync:
        found = sync.plan()
    output.data(found.to_json())
    _show(found)


COMMAND = CommandDeclaration("plan", plan, place=1, panel=Panel.KEEP_IN_STEP)


def _show(found: Plan) -> None:
    from kgsync.state.report import named_counts, waiting_line

    if found.graph_version is None:
        output.text("nothing to do: the embeddings are up to date")
    else:
        output.text(f"next: {found.graph_version} ({found.behind} to do, ordered by {found.order})")
        assert found.change is not None
        show_change(found.change)
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
