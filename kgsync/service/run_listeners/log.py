"""Logs the events of a scheduled sync that matter to operators."""

from __future__ import annotations

import logging

from kgsync.common.events import (
    Committed,
    Event,
    Paused,
    Resumed,
    RetryPlanned,
    RunEnded,
    ScheduleEnded,
    StoreWaited,
)
from kgsync.errors import KgsyncError
from kgsync.service.run_file import RunFile, moment

__all__ = ["LogListener", "listener"]

_log = logging.getLogger(__name__)


class LogListener:
    """Logs the events that matter to operators."""

    def __init__(self, name: str, file: RunFile) -> None:
        """Name the sync."""
        self._name = name

    def __call__(self, event: Event) -> None:
        """Log an event, or not."""
        match event:
            case Committed(version, graph_version, action, seconds):
                done = f"version {version} of {graph_version}: {action}"
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


listener = LogListener
