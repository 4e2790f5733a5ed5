"""Running syncs on a schedule: one run at a time, retries, a clean stop.

A run takes all pending versions. Runs that come due during another run become one run after it.
After a transient error the run is retried. Any other error pauses its graph: the sync checks it
regularly and resumes when the cause is gone. Only wrong settings end a schedule.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

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
    RunStarted,
    ScheduleEnded,
    StoreWaited,
)
from kgsync.common.listener import Events
from kgsync.common.retrying import Retry
from kgsync.errors import (
    ConfigError,
    KgsyncError,
    SettingsChangedError,
    StateLockedError,
    TransientStoreError,
)
from kgsync.service.pausing import Pause
from kgsync.service.run_listeners import run_listeners
from kgsync.service.run_status import RunFile, RunStatus, moment
from kgsync.service.settings import ScheduleSettings
from kgsync.service.syncs import ScheduledSync
from kgsync.service.triggers import trigger_of

__all__ = ["Schedule"]

_COMMITTING = "commit", "publish"
"""Last phases of a step: once they begin, the step is finished."""
_LOOK_SECONDS = 0.5
"""How often a waiting main thread checks for signals that another thread received."""
_JUMP_SECONDS = 5.0
_LONGEST_REST = 86400.0
"""Maximum pause between two runs, however busy the store was."""
_log = logging.getLogger(__name__)


class Schedule:
    """Runs one or more syncs, each at its times, one at a time."""

    def __init__(
        self, syncs: Sequence[ScheduledSync], every: str | None = None, cron: str | None = None
    ) -> None:
        """Set up the schedules.

        Args:
            syncs: One sync per graph.
            every: For all of them, instead of what their settings say.
            cron: The same.

        Raises:
            ConfigError: A schedule is missing or invalid.
        """
        places = [sync.state.path.resolve() for sync in syncs]
        for place in places:
            if places.count(place) > 1:
                raise ConfigError(
                    f"two graphs use the state directory {place}; set state.path for one of them"
                )
        self.errors: list[Exception] = []
        """The errors that ended schedules, in order."""
        self._stopping = threading.Event()
        # Only this may be told to stop by a signal handler: its put() interrupts itself safely.
        self._inbox: SimpleQueue[None] = SimpleQueue()
        self._busy = threading.Lock()
        self._scheduler = BackgroundScheduler(executors={"default": ThreadPoolExecutor(1)})
        self._graphs = [_Graph(sync, _times(sync, every, cron)) for sync in syncs]
        self._open = len(self._graphs)
        self._clock = _Clock()

    @property
    def statuses(self) -> list[RunStatus]:
        """The status of each graph."""
        return [graph.file.status for graph in self._graphs]

    def run(self, patience: float | None = None) -> bool:
        """Run until `stop` is called, Ctrl-C is pressed, or every graph has ended by an error.

        Args:
            patience: How many seconds to wait at the end for a step that is to be abandoned.

        Returns:
            Whether nothing runs any more; False if the patience was over before.

        Raises:
            StateLockedError: Another process runs the schedule of one of the graphs.
        """
        with ExitStack() as stack:
            for graph in self._graphs:
                stack.enter_context(graph.file.held())
                stack.enter_context(graph.abandoning(self._stopping))
                graph.recall_pause()
                self._add(graph)
            self._scheduler.start()
            try:
                self._wait()
            except KeyboardInterrupt:
                _log.info("interrupted")
            self._stopping.set()
            self._scheduler.shutdown(wait=False)
            return self._idle(patience)

    def stop(self) -> None:
        """End `run`; a step that is not being committed is abandoned at its next safe point.

        May be called from any thread and from a signal handler.
        """
        self._inbox.put(None)

    # Handlers run in the main thread, but a signal wakes only the thread that receives it: a main
    # thread that waits without an end may never hear of it.

    def _wait(self) -> None:
        """Until told to stop."""
        while True:
            with suppress(Empty):
                return self._inbox.get(timeout=_LOOK_SECONDS)
            jump = self._clock.jump()
            for graph in self._graphs:
                job = self._scheduler.get_job(graph.job)
                if job is None or job.next_run_time is None:
                    continue  # ended, or running
                if jump:
                    _log.warning("%s: the clock was set by %+.0f s", graph.name, jump)
                    self._move(graph, graph.moved_by(job.next_run_time, jump))
                if graph.is_accepted():
                    self._move(graph, datetime.now(UTC))

    def _idle(self, patience: float | None) -> bool:
        """Wait for the running step; returns whether it has ended."""
        until = math.inf if patience is None else time.monotonic() + patience
        while (left := until - time.monotonic()) > 0:
            if self._busy.acquire(timeout=min(left, _LOOK_SECONDS)):
                self._busy.release()
                return True
        return not self._busy.locked()

    def _add(self, graph: _Graph) -> None:
        # An interval begins with a run, a cron line says itself when.
        first = {"next_run_time": datetime.now(UTC)} if graph.settings.every else {}
        graph.job = self._scheduler.add_job(
            self._run,
            graph.trigger,
            [graph],
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
            **first,
        ).id

    def _run(self, graph: _Graph) -> None:
        """One run of one graph, in the only worker thread."""
        with self._busy:
            job = self._scheduler.get_job(graph.job)
            if self._stopping.is_set() or job is None:
                return
            # What comes due in the meantime is left to be made up for, in one run, afterwards.
            due = job.next_run_time
            self._move(graph, None)
            graph.tell(RunStarted())
            try:
                next_run = graph.run(due)
            except AbandonedError:
                graph.tell(RunEnded("abandoned"))
                _log.info("%s: the running step was abandoned", graph.name)
                return
            except KgsyncError as error:
                self._give_up(graph, error)
                return
            self._move(graph, next_run)

    def _move(self, graph: _Graph, when: datetime | None) -> None:
        with suppress(JobLookupError):  # shut down meanwhile
            self._scheduler.modify_job(graph.job, next_run_time=when)

    def _give_up(self, graph: _Graph, error: Exception) -> None:
        _let_go(error)
        graph.tell(ScheduleEnded(error))
        self.errors.append(error)
        with suppress(JobLookupError):
            self._scheduler.remove_job(graph.job)
        self._open -= 1
        if not self._open:
            self.stop()


class _Graph:
    """One sync of the schedule."""

    def __init__(self, sync: ScheduledSync, settings: ScheduleSettings) -> None:
        self.sync = sync
        self.settings = settings
        self.trigger = trigger_of(settings)
        self.name = sync.state.path.name
        times = f"every {settings.every}" if settings.every else f"at {settings.cron}"
        self.file = RunFile(sync.state, times)
        self._listeners = run_listeners(self.name, self.file)
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
        return f"{commits} version(s) committed" if commits else str(report)

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
        _let_go(error)
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


class _Clock:
    """Notices when the clock is set, by more than it drifts."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def jump(self) -> float:
        """By how many seconds it was set since the last look."""
        ahead = time.time() - time.monotonic()
        jump, self._ahead = ahead - self._ahead, ahead
        return jump if abs(jump) > _JUMP_SECONDS else 0.0


def _let_go(error: BaseException) -> None:
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


def _times(sync: ScheduledSync, every: str | None, cron: str | None) -> ScheduleSettings:
    settings: ScheduleSettings = sync.settings.schedule
    if every is None and cron is None:
        return settings
    given = replace(settings, every=every, cron=cron)
    checked: ScheduleSettings = replace(sync.settings, schedule=given).schedule
    return checked


def _delay(settings: ScheduleSettings, tries: int) -> float:
    """Seconds before the next try."""
    first, most = seconds_of(settings.retry_after), seconds_of(settings.retry_most)
    return Retry(first=first, most=most, jitter=True).delay(tries)
