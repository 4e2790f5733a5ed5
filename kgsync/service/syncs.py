"""A sync as a schedule sees it, and its runs: what comes next after a success or an error."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from kgsync.common.durations import seconds_of
from kgsync.common.events import (
    AbandonedError,
    Event,
    Paused,
    PhaseStarted,
    Progress,
    Resumed,
    RetryPlanned,
    RunEnded,
    StoreWaited,
)
from kgsync.common.listener import AnyListener, Events
from kgsync.common.retrying import Retry
from kgsync.common.wording import counted
from kgsync.errors import (
    ConfigError,
    SettingsChangedError,
    StateLockedError,
    TransientStoreError,
)
from kgsync.graph.store_watch import StoreWatch
from kgsync.service.pausing import Pause
from kgsync.service.run_file import RunFile, moment
from kgsync.service.run_listeners import run_listeners
from kgsync.service.settings import ScheduleSettings
from kgsync.service.triggers import trigger_of
from kgsync.state.directory import State
from kgsync.state.report import StepReport

__all__ = ["ScheduledGraph", "ScheduledSync", "let_go"]

_COMMITTING = "commit", "publish"
"""Last phases of a step: once they begin, the step is finished."""
_LONGEST_REST = 86400.0
"""Maximum pause between two runs, however busy the store was."""


class ScheduledSync(Protocol):
    """What can be run on a schedule: one graph."""

    listener: AnyListener
    """Receives the progress of a step, and may end the step by raising an exception."""

    @property
    def settings(self) -> Any:
        """A dataclass whose `schedule` says when to run; checks itself when it is made."""

    @property
    def state(self) -> State:
        """Where its versions are."""

    @property
    def watch(self) -> StoreWatch:
        """How long its store has worked."""

    def step(self) -> StepReport:
        """Take one graph version, if there is a new one."""


class ScheduledGraph:
    """One sync of the schedule."""

    def __init__(self, sync: ScheduledSync, settings: ScheduleSettings) -> None:
        self.sync = sync
        self.settings = settings
        self.trigger = trigger_of(settings)
        self.name = sync.state.path.name
        times = f"every {settings.every}" if settings.every else f"at {settings.cron}"
        self.file = RunFile(sync.state, times)
        self._listeners = tuple(run_listeners(self.name, self.file).values())
        self.tell = Events(*self._listeners)
        """Tells whoever hears the events of this graph."""
        self.job: str = ""
        self._hurried: int | None = None
        self._paused = 0
        """Runs in a row that ended in a pause."""

    @contextmanager
    def abandoning(self, stopping: threading.Event) -> Iterator[None]:
        """Let steps be abandoned for a while."""
        listener = self.sync.listener
        self.tell = Events(*self._listeners, listener)
        self.sync.listener = Events(_Abandoning(stopping), self.tell)
        try:
            yield
        finally:
            self.sync.listener = listener

    def is_accepted(self) -> bool:
        """Whether a user has accepted the pause of this graph since the last run."""
        if self.file.status.paused_since is None:
            return False
        pause, written = Pause.load(self.sync.state), Pause.written(self.sync.state)
        # Once for every acceptance: a run that fails is tried again in its own time.
        if pause is None or not pause.accepted or written == self._hurried:
            return False
        self._hurried = written
        return True

    def moved_by(self, planned: datetime, jump: float) -> datetime:
        """When to run after the clock was set; a cron expression follows the new time."""
        later = planned + timedelta(seconds=jump)
        if self.settings.every is None:
            later = self.trigger.get_next_fire_time(None, datetime.now(UTC)) or later
        self.file.update(next_run=moment(later))
        return later

    def recall_pause(self) -> None:
        """Continue a pause of an earlier process."""
        pause = Pause.load(self.sync.state)
        if pause is not None:
            self.tell(Paused(pause.reason, since=pause.since))

    def run(self, due: datetime) -> datetime:
        """Take all pending versions.

        Args:
            due: When the schedule wants the next run.

        Returns:
            When to run again.

        Raises:
            ConfigError: A setting is wrong.
            SettingsChangedError: The settings no longer fit the stored vectors.
        """
        watch = self.sync.watch
        watch.on_wait = lambda reason: self.tell(StoreWaited(reason))
        started, busy, succeeded = time.monotonic(), watch.busy_seconds, False
        try:
            outcome, succeeded = self._catch_up(), True
            if self.file.status.paused_since:
                self.tell(Resumed())
            self._paused = 0
            next_run = self._regular(due)
        except (ConfigError, SettingsChangedError, AbandonedError):
            raise
        except (TransientStoreError, StateLockedError) as error:
            outcome, next_run = "transient error", self._retry(error, self._regular(due))
        except Exception as error:  # noqa: BLE001  # any error may be gone at the next run
            outcome, next_run = "paused", self._pause(error, self._regular(due))
        spent = watch.busy_seconds - busy
        put_off, next_run = self._put_off(next_run, spent, time.monotonic() - started)
        self.tell(RunEnded(outcome, next_run, spent, put_off, succeeded))
        return next_run

    def _catch_up(self) -> str:
        """Step until nothing is new; returns the outcome."""
        commits = 0
        while (report := self.sync.step()).changed:
            commits += 1
            if not report.behind:
                break
        return f"{counted(commits, 'version')} committed" if commits else str(report)

    def _regular(self, due: datetime) -> datetime:
        """When the schedule wants the next run, also if the clock was set meanwhile."""
        now = datetime.now(UTC)
        if self.settings.every is None:
            return self.trigger.get_next_fire_time(None, now) or due
        longest = seconds_of(self.settings.every) + seconds_of(self.settings.jitter)
        return min(due, now + timedelta(seconds=longest))

    def _retry(self, error: Exception, due: datetime) -> datetime:
        """Plan a retry after a transient error; returns its time."""
        status = self.file.status
        row = status.transient_errors_in_row + 1
        wait = max(_delay(self.settings, row), getattr(error, "retry_after", 0.0))
        later = datetime.now(UTC) + timedelta(seconds=wait)
        next_run = later if row <= self.settings.retries else max(later, due)
        if status.paused_since and not getattr(error, "retry_after", 0.0):
            next_run = min(next_run, due)  # it may be over soon
        self.tell(RetryPlanned(error, row, next_run))
        return next_run

    def _pause(self, error: Exception, due: datetime) -> datetime:
        """Pause the graph; returns the time of the next check."""
        reason = str(error) or repr(error)
        self.tell(Paused(reason, error, news=reason != self.file.status.paused_reason))
        let_go(error)
        self._paused += 1
        later = datetime.now(UTC) + timedelta(seconds=_delay(self.settings, self._paused))
        return min(later, due)

    def _put_off(
        self, next_run: datetime, spent: float, took: float
    ) -> tuple[str | None, datetime]:
        """Delay the next run, so that the store works for at most `max_load` of the time."""
        rest = spent / self.settings.max_load - took
        earliest = datetime.now(UTC) + timedelta(seconds=min(rest, _LONGEST_REST))
        if earliest <= next_run:
            return None, next_run
        why = (
            f"polls are spaced out: the last one kept the store busy for {spent:.1f} s, at most "
            f"{self.settings.max_load:.0%} of the time are allowed (max_load)"
        )
        return why, earliest


def let_go(error: BaseException) -> None:
    """Clear the frames of an error, so that other threads cannot reach open resources."""
    for part in (error, error.__cause__, error.__context__):
        if part is not None:
            traceback.clear_frames(part.__traceback__)


class _Abandoning:
    """A listener that abandons a step on stop, unless it is being committed."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def __call__(self, event: Event) -> None:
        match event:
            case PhaseStarted(phase) if phase in _COMMITTING:
                return
            case PhaseStarted() | Progress() if self._stopping.is_set():
                raise AbandonedError


def _delay(settings: ScheduleSettings, tries: int) -> float:
    """Seconds before the next try."""
    first, most = seconds_of(settings.retry_after), seconds_of(settings.retry_most)
    return Retry(first=first, most=most, jitter=True).delay(tries)
