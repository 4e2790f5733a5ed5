"""`kgsync run`: sync on a schedule until a signal stops it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Json
from kgsync.cli.output import output
from kgsync.common.printable import PrintableFormatter
from kgsync.errors import KgsyncError

__all__ = ["COMMAND"]

_ECHO_SECONDS = 0.3
_PATIENCE_SECONDS = 10.0
"""How long a step may take to reach its next safe point before the process exits anyway."""


def run(
    config: Annotated[
        list[Path], typer.Option("--config", "-c", help="Settings file; repeat for more graphs.")
    ] = [CONFIG],  # noqa: B006
    every: Annotated[
        str | None, typer.Option(help="Interval between runs, like 30s, 15m, 2h, 1d.")
    ] = None,
    cron: Annotated[str | None, typer.Option(help="Or: cron expression, local time.")] = None,
    json: Json = False,
) -> None:
    """Run steps on a schedule until SIGTERM or Ctrl-C; `kgsync status` shows the progress.

    A second signal ends the process at once. Graphs of several settings files run in turn.
    """
    output.json = json
    from kgsync.service.schedule import Schedule
    from kgsync.sync import KGSync

    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    syncs = [KGSync.from_config(file) for file in config]
    schedule = Schedule(syncs, every, cron)
    log = logging.getLogger(__name__)
    for file, status in zip(config, schedule.statuses, strict=True):
        log.info("%s: runs %s", file, status.schedule)
    with _signals(schedule.stop):
        done = schedule.run(_PATIENCE_SECONDS)
    errors = schedule.errors
    if not errors or not done:
        statuses = zip(config, schedule.statuses, strict=True)
        output.data([{"config": str(file), **asdict(status)} for file, status in statuses])
    if not done:
        # Uncommitted work is discarded: only one step has to be repeated.
        log.info("stopped in the middle of a step; the next run repeats it")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(getattr(errors[0], "exit_code", 1) if errors else 0)
    for error in errors:
        raise error if isinstance(error, KgsyncError) else SystemExit(1)  # it has been logged
    log.info("stopped")


COMMAND = CommandDeclaration("run", run, place=3, panel=Panel.KEEP_IN_STEP)


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
