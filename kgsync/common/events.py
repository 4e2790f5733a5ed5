"""Typed events of a sync. A listener is a function that takes an event.

Event
├── PhaseStarted    a phase of a step begins
├── Progress        progress within a long phase
├── Committed       another version is current, and published as far as that went
├── Rejected        a requirement refused a version; the last one stays current
├── Failed          a step ended with another error; the last version stays current
└── ScheduleEvent   what only a scheduled sync has
    ├── RunStarted      a run begins, which takes all versions there are
    ├── RunEnded        it is over
    ├── StoreWaited     the store keeps a step waiting, or does so no longer
    ├── RetryPlanned    a transient error ended the run
    ├── Paused          a permanent error ended the run: the graph is paused until it is resolved
    ├── Resumed         it is over
    └── ScheduleEnded   a wrong setting ended the schedule
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

__all__ = [
    "ROLLED_BACK",
    "AbandonedError",
    "Committed",
    "Event",
    "Failed",
    "Hearer",
    "Paused",
    "PhaseStarted",
    "Progress",
    "Rejected",
    "Resumed",
    "RetryPlanned",
    "RunEnded",
    "RunStarted",
    "ScheduleEnded",
    "ScheduleEvent",
    "StoreWaited",
]


ROLLED_BACK = "rolled back"
"""Action of a commit that makes an older version current again."""


@dataclass(frozen=True)
class Event:
    """Something that happened."""


Hearer: TypeAlias = Callable[[Event], None]
"""Hears events, unknown ones included. What it raises on a phase or on progress ends the step."""


class AbandonedError(Exception):
    """A listener ends the step; nothing has failed."""


@dataclass(frozen=True)
class PhaseStarted(Event):
    """A phase of a step begins."""

    phase: str


@dataclass(frozen=True)
class Progress(Event):
    """Progress within a long phase."""

    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class Committed(Event):
    """Another version is current. Told after every commit, whatever fails after it."""

    version: int
    graph_version: str
    action: str
    """How it was made, see `StepReport.action`; or `ROLLED_BACK`: it is an older version."""
    seconds: float
    """How long the step took."""
    behind: int = 0
    """Graph versions that are not processed yet; 0 after a rollback, which does not look."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rejected(Event):
    """A requirement refused a version."""

    error: Exception


@dataclass(frozen=True)
class Failed(Event):
    """A step ended with an error."""

    error: Exception


@dataclass(frozen=True)
class ScheduleEvent(Event):
    """Something that happened to a scheduled sync."""


@dataclass(frozen=True)
class RunStarted(ScheduleEvent):
    """A run begins."""


@dataclass(frozen=True)
class RunEnded(ScheduleEvent):
    """A run is over."""

    outcome: str
    next_run: datetime | None = None
    store_seconds: float | None = None
    """How long the store worked for it; None if the run was cut short."""
    put_off: str | None = None
    """Why the next run is later than the schedule says."""
    succeeded: bool = False
    """Whether it ended without an error."""


@dataclass(frozen=True)
class StoreWaited(ScheduleEvent):
    """The store keeps a step waiting."""

    reason: str | None
    """None when that is over."""


@dataclass(frozen=True)
class RetryPlanned(ScheduleEvent):
    """A transient error ended a run."""

    error: Exception
    in_row: int
    """Number of such errors in a row."""
    next_try: datetime


@dataclass(frozen=True)
class Paused(ScheduleEvent):
    """An error ended a run; the graph is looked at again and again until it is over."""

    reason: str
    error: Exception | None = None
    """None for the pause of an earlier process."""
    since: str | None = None
    """When it began, if that is known."""
    news: bool = True
    """Whether this is another reason than before."""


@dataclass(frozen=True)
class Resumed(ScheduleEvent):
    """The reason for the pause is resolved."""


@dataclass(frozen=True)
class ScheduleEnded(ScheduleEvent):
    """An error ended the schedule."""

    error: Exception
