"""`kgsync run`: sync on a schedule until a signal stops it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kgsync.cli.output import output
from kgsync.common.printable import PrintableFormatter
from kgsync.errors import KgsyncError
from kgsync.service.schedule import Schedule
from kgsync.sync import KGSync

__all__ = ["run_schedule"]

_ECHO_SECONDS = 0.3
_PATIENCE_SECONDS = 10.0
"""How long a step may take to reach its next safe point before the process exits anyway."""


def run_schedule(configs: Sequence[Path], every: str | None, cron: str | None) -> None:
    """Run the syncs of the given settings files on their schedules.

    Raises:
        KgsyncError: A setting is wrong, or an error ended a sync.
        SystemExit: An unexpected error ended a sync.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    syncs = [KGSync.from_config(config) for config in configs]
    schedule = Schedule(syncs, every, cron)
    log = logging.getLogger(__name__)
    for config, status in zip(configs, schedule.statuses, strict=True):
        log.info("%s: runs %s", config, status.schedule)
    with _signals(schedule.stop):
        done = schedule.run(_PATIENCE_SECONDS)
    errors = schedule.errors
    if not errors or not done:
        statuses = zip(configs, schedule.statuses, strict=True)
        output.data([{"config": str(config), **asdict(status)} for config, status in statuses])
    if not done:
        # Uncommitted work is discarded: only one step has to be repeated.
        log.info("stopped in the middle of a step; the next run repeats it")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(getattr(errors[0], "exit_code", 1) if errors else 0)
    for error in errors:
        raise error if isinstance(error, KgsyncError) else SystemExit(1)  # it has been logged
    log.info("stopped")


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Stop cleanly at the first signal; exit at once at the second.

    Some wrappers send one signal twice, to the process and to its group: that counts as one.
    """
    first: list[float] = []

    def handle(number: int, _frame: Any) -> None:
        if not first:
            first.append(time.monotonic())
            stop()
        elif time.monotonic() - first[0] > _ECHO_SECONDS:
            os._exit(128 + number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
