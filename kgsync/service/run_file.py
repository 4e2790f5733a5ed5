"""The status of a scheduled sync: a small file that others read while it runs."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgsync.common.durable import sealed, unsealed, write_file
from kgsync.common.locks import HeldError, is_held, take_lock
from kgsync.common.retrying import Retry
from kgsync.common.wording import counted
from kgsync.errors import StateLockedError
from kgsync.state.directory import State

__all__ = ["RunFile", "RunStatus", "moment"]

_FILE, _LOCK = "run.json", "run.lock"
_SIZE = 4096
"""Minimum size of the file in bytes, so that it can still be written when the disk is full."""
_ASKED_FOR = Retry(20, first=0.05, most=0.05, transient=(BlockingIOError,))
"""A process that checks whether the lock is held, holds it for a moment."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunStatus:
    """A scheduled sync of one graph; times are UTC."""

    pid: int
    schedule: str
    """When it runs."""
    started: str
    stopped: str | None = None
    runs: int = 0
    commits: int = 0
    last_start: str | None = None
    last_end: str | None = None
    last_outcome: str | None = None
    next_run: str | None = None
    transient_errors_in_row: int = 0
    transient_errors: int = 0
    last_error: str | None = None
    last_error_at: str | None = None
    phase: str | None = None
    """What the running step is doing, if that takes long."""
    paused_since: str | None = None
    """Since when the sync is paused; it keeps checking the graph."""
    paused_reason: str | None = None
    waiting_for: str | None = None
    """What the running step waits for."""
    store_seconds: float = 0.0
    """How long the store worked for the last run."""
    put_off: str | None = None
    """Why the next run is later than the schedule says."""
    running: bool = True
    """Whether its process is alive and has not stopped."""

    @classmethod
    def load(cls, folder: Path) -> RunStatus | None:
        """The status in a state directory, or None if nothing readable is there."""
        try:
            data = unsealed(json.loads((folder / _FILE).read_text(encoding="utf-8")))
            known = {field.name: data[field.name] for field in fields(cls) if field.name in data}
            status = cls(**known)
        except (OSError, ValueError, TypeError):
            return None
        # A process id may be reused; a lock ends with its process.
        return replace(status, running=status.stopped is None and is_held(folder / _LOCK))

    def lines(self, *, accepted: bool = False) -> list[str]:
        """The status as text.

        Args:
            accepted: Whether a user has accepted what paused the sync: it is not told again.
        """
        last = f"last run {self.last_start or 'never'}"
        if self.last_start and self.last_outcome:
            last += f": {self.last_outcome}"
        counts = f"{counted(self.runs, 'run')}, {counted(self.commits, 'commit')}"
        if self.running:
            lines = [
                f"running (pid {self.pid}) {self.schedule}, since {self.started}: {counts}",
                f"{last}; next {self.next_run or self._meanwhile()}",
            ]
        else:
            how = f"stopped {self.stopped}" if self.stopped else f"pid {self.pid} is gone"
            lines = [f"not running ({how}): {counts}; {last}"]
        if self.running and self.paused_since and not accepted:
            lines.append(f"PAUSED since {self.paused_since}: {self.paused_reason}")
        if self.running and self.waiting_for:
            lines.append(f"waiting: {self.waiting_for}")
        if self.running and self.put_off:
            lines.append(self.put_off)
        if self.transient_errors:
            row, total = self.transient_errors_in_row, self.transient_errors
            lines.append(f"transient errors: {row} in a row, {total} in total")
        if self.last_error and not (self.running and self.paused_since):
            when = f" at {self.last_error_at}" if self.last_error_at else ""
            lines.append(f"last error{when}: {self.last_error}")
        return lines

    def _meanwhile(self) -> str:
        return f"when this one is done ({self.phase})" if self.phase else "when this one is done"


class RunFile:
    """Keeps the status of one running sync in its state directory."""

    def __init__(self, state: State, schedule: str) -> None:
        """Name the directory; nothing is written yet."""
        self._state = state
        self._changing = threading.Lock()
        self.status = RunStatus(os.getpid(), schedule, moment())

    @property
    def folder(self) -> Path:
        """The state directory, where listeners may keep files of their own; it may not exist yet.

        Their names must differ from those that `kgsync.state.directory` lists.
        """
        return self._state.path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock that makes this the only scheduled sync of the state.

        Raises:
            StateLockedError: There is another one.
        """
        folder = self._state.path
        with self._state.writing("the lock of the schedule"):
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                take_lock(handle, folder / _LOCK, _ASKED_FOR)
            except HeldError:
                other = RunStatus.load(folder)
                raise StateLockedError(
                    f"another process (pid {other.pid if other else 'unknown'}) runs the schedule "
                    f"of the state {folder}; stop it first"
                ) from None
            self.update(started=moment())
            try:
                yield
            finally:
                if self.status.stopped is None:
                    self.update(stopped=moment(), next_run=None, running=False)
        finally:
            os.close(handle)

    def update(self, **changes: Any) -> None:
        """Replace the file. A full disk must neither end a run nor hide its status."""
        path = self._state.path / _FILE
        with self._changing:
            self.status = replace(self.status, **changes)
            text = json.dumps(sealed(asdict(self.status)), indent=1)
            try:
                write_file(path, text.ljust(_SIZE))
            except OSError as error:
                if not _overwritten(path, text):
                    _log.warning("cannot write %s: %s", path, error)


def _overwritten(path: Path, text: str) -> bool:
    """Write in place, which needs no new space on a full disk."""
    data = text.encode()
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if len(data) > size:
                return False
            file.seek(0)
            file.write(data.ljust(size))
    except OSError:
        return False
    return True


def moment(time_: datetime | None = None) -> str:
    """A time, now by default, as the file has it."""
    return (time_ or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
