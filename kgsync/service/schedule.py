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
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from queue import Empty, SimpleQueue

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from kgsync.common.events import AbandonedError, RunEnded, RunStarted, ScheduleEnded
from kgsync.errors import ConfigError, KgsyncError
from kgsync.service.run_file import RunStatus
from kgsync.service.settings import ScheduleSettings
from kgsync.service.syncs import ScheduledGraph, ScheduledSync, let_go

__all__ = ["Schedule"]

_LOOK_SECONDS = 0.5
"""How often a waiting main thread checks for signals that another thread received."""
_JUMP_SECONDS = 5.0
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
        self._graphs = [ScheduledGraph(sync, _times(sync, every, cron)) for sync in syncs]
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

    def _add(self, graph: ScheduledGraph) -> None:
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

    def _run(self, graph: ScheduledGraph) -> None:
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

    def _move(self, graph: ScheduledGraph, when: datetime | None) -> None:
        with suppress(JobLookupError):  # shut down meanwhile
            self._scheduler.modify_job(graph.job, next_run_time=when)

    def _give_up(self, graph: ScheduledGraph, error: Exception) -> None:
        let_go(error)
        graph.tell(ScheduleEnded(error))
        self.errors.append(error)
        with suppress(JobLookupError):
            self._scheduler.remove_job(graph.job)
        self._open -= 1
        if not self._open:
            self.stop()


class _Clock:
    """Notices when the clock is set, by more than it drifts."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def jump(self) -> float:
        """By how many seconds it was set since the last look."""
        ahead = time.time() - time.monotonic()
        jump, self._ahead = ahead - self._ahead, ahead
        return jump if abs(jump) > _JUMP_SECONDS else 0.0


def _times(sync: ScheduledSync, every: str | None, cron: str | None) -> ScheduleSettings:
    settings: ScheduleSettings = sync.settings.schedule
    if every is None and cron is None:
        return settings
    given = replace(settings, every=every, cron=cron)
    checked: ScheduleSettings = replace(sync.settings, schedule=given).schedule
    return checked
