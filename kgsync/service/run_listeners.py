"""Listeners of a scheduled sync: its status file, and the log."""

from __future__ import annotations

import logging
from typing import Any

from kgsync.common.events import (
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
from kgsync.common.listener import AnyListener
from kgsync.errors import KgsyncError
from kgsync.service.run_status import RunFile, moment

__all__ = ["LogListener", "StatusListener", "run_listeners"]

_LONG = "waiting for rest", "compile", "train", "update"
"""Phases shown in the status."""
_log = logging.getLogger(__name__)


def run_listeners(name: str, file: RunFile) -> tuple[AnyListener, ...]:
    """All listeners of one scheduled sync; new ones are added here.

    Args:
        name: What the log calls the sync.
        file: Its status file.
    """
    return StatusListener(file), LogListener(name)


class StatusListener:
    """Writes the progress of a scheduled sync into its status file."""

    def __init__(self, file: RunFile) -> None:
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
            case Committed():
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
                changes["stopped"] = moment()
        return changes


class LogListener:
    """Logs the events that matter to operators."""

    def __init__(self, name: str) -> None:
        """Name the sync."""
        self._name = name

    def __call__(self, event: Event) -> None:
        """Log an event, or not."""
        match event:
            case Committed(version, graph_version, action, seconds):
                done = f"version {version}: {action} from {graph_version}"
                _log.info("%s: %s in %.1f s", self._name, done, seconds)
                for warning in event.warnings:
                    _log.warning("%s: %s", self._name, warning)
            case StoreWaited(str(reason)):
                _log.warning("%s: waiting: %s", self._name, reason)
            case Resumed():
                _log.info("%s: resumed", self._name)
            case RetryPlanned(error, _, next_try):
                _log.warning("%s: %s; next try %s", self._name, error, moment(next_try))
            case Paused(reason, Exception() as error, news=True):
                if isinstance(error, KgsyncError | OSError):
                    _log.error("%s: paused: %s", self._name, reason)
                else:
                    text = "%s: paused by an unexpected error"
                    _log.error(text, self._name, exc_info=error)
            case RunEnded(outcome):
                _log.debug("%s: %s", self._name, outcome)
            case ScheduleEnded(error):
                _log.error("%s: %s; its schedule has ended", self._name, error)


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
