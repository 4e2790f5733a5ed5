"""Writes the progress of a scheduled sync into its status file."""

from __future__ import annotations

from typing import Any

from kgsync.common.events import (
    ROLLED_BACK,
    Committed,
    Event,
    Paused,
    PhaseStarted,
    Resumed,
    RetryPlanned,
    RunEnded,
    RunStarted,
    ScheduleEnded,
    StoreWaited,
)
from kgsync.service.run_file import RunFile, moment

__all__ = ["StatusListener", "listener"]

_LONG = "waiting for rest", "compile", "train", "update"
"""Phases shown in the status."""


class StatusListener:
    """Writes the progress of a scheduled sync into its status file."""

    def __init__(self, name: str, file: RunFile) -> None:
        """Name the file."""
        self._file = file

    def __call__(self, event: Event) -> None:
        """Note an event."""
        changes = self._changes(event)
        if changes:
            self._file.update(**changes)

    def _changes(self, event: Event) -> dict[str, Any]:
        status, changes = self._file.status, dict[str, Any]()
        match event:
            case PhaseStarted(phase) if phase in _LONG:
                changes = {"phase": phase}
            case Committed(action=action) if action != ROLLED_BACK:
                changes = {"commits": status.commits + 1}
            case RunStarted():
                changes = {"last_start": moment(), "last_end": None, "next_run": None}
                changes["runs"] = status.runs + 1
            case StoreWaited(reason):
                changes = {"waiting_for": reason}
            case Resumed():
                changes = dict.fromkeys(("paused_since", "paused_reason", "last_error"))
            case RetryPlanned(error, in_row):
                changes = {"transient_errors_in_row": in_row, **_last_error(str(error))}
                changes["transient_errors"] = status.transient_errors + 1
                if status.paused_since:
                    changes["paused_reason"] = str(error)
            case Paused(reason, None, since):
                changes = {"paused_since": since, "paused_reason": reason}
            case Paused(reason):
                changes = {"transient_errors_in_row": 0, **_last_error(reason)}
                changes["paused_since"] = status.paused_since or moment()
                changes["paused_reason"] = reason
            case RunEnded():
                changes = _ended(event)
            case ScheduleEnded(error):
                changes = {**_ended(RunEnded("error")), **_last_error(str(error) or repr(error))}
                changes |= {"stopped": moment(), "running": False}
        return changes


listener = StatusListener


def _ended(event: RunEnded) -> dict[str, Any]:
    over: dict[str, Any] = {
        "last_end": moment(),
        "last_outcome": event.outcome,
        "waiting_for": None,
        "phase": None,
    }
    if event.next_run is not None:
        over["next_run"] = moment(event.next_run)
    if event.store_seconds is not None:
        over |= {"store_seconds": round(event.store_seconds, 3), "put_off": event.put_off}
    if event.succeeded:
        over["transient_errors_in_row"] = 0
    return over


def _last_error(text: str) -> dict[str, Any]:
    return {"last_error": text, "last_error_at": moment()}
