"""`kgsync status`: the current version, the scheduled runs and the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import show_history

if TYPE_CHECKING:
    from kgsync.service.status import Status
    from kgsync.state.report import StepReport

__all__ = ["COMMAND"]


def status(config: Config = CONFIG, json: Json = False) -> None:
    """Show the current version, the scheduled runs and the history."""
    output.json = json
    with opened_sync(config) as sync:
        found, history = sync.status(), sync.history()
    output.data({**found.to_json(), "history": [report.to_json() for report in history]})
    _show(found, history)


COMMAND = CommandDeclaration("status", status, place=4, panel=Panel.KEEP_IN_STEP)


def _show(found: Status, history: list[StepReport]) -> None:
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
    for each in found.damaged_files:
        output.text(f"warning: damaged: {each}")
    if found.damaged_files:
        output.text("warning: restore these files from a backup, or go to another version")
    show_history(history, found.version)


def _join(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)
