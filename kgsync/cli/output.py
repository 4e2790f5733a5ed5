"""Output of the command line: tables for people, JSON for scripts; progress on standard error.

All output passes through here, so that no control characters from outside reach a terminal.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kgsync.cli.tables import table_lines
from kgsync.common import events
from kgsync.common.listener import Events
from kgsync.common.printable import printable, printable_json
from kgsync.errors import KgsyncError

__all__ = ["Output", "output"]

_SILENCE = 5.0
"""Seconds without a line after which a file or a pipe is told what is being done."""


class Output:
    """Standard output and standard error of one command."""

    def __init__(self) -> None:
        """Write text until `json` is set."""
        self.json = False
        # Rich would take parts of IRIs for emoji (urn:book:1) or for markup.
        self._out = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False, markup=False)
        self._bars: Progress | None = None
        self.committed: list[Any] = []
        """Reports of what was committed before an error ended the command."""

    @property
    def screen_width(self) -> int | None:
        """Columns of the terminal; None if standard output is a file or a pipe."""
        return self._out.width if self._out.is_terminal else None

    @property
    def width(self) -> int | None:
        """The same, but COLUMNS also counts in a file or a pipe."""
        asked = os.environ.get("COLUMNS", "").isdigit()
        return self._out.width if asked else self.screen_width

    def text(self, text: str = "") -> None:
        """Print a line of text; nothing in JSON mode."""
        if not self.json:
            self._pause()
            self._out.print(printable(text, lines=True))

    def heading(self, text: str) -> None:
        """Print a heading; nothing in JSON mode."""
        if not self.json:
            self._pause()
            self._out.print(f"\n{printable(text)}", style="bold")

    def data(self, value: Any) -> None:
        """Print the JSON document of a command; nothing in text mode."""
        if self.json:
            document = json.dumps(value, indent=2, ensure_ascii=False)
            self._out.out(printable_json(document))

    def exact(self, text: str) -> None:
        """Write data such as CSV unchanged, except for control characters on a terminal."""
        # Not through Rich, which drops some characters.
        self._out.file.write(printable(text, lines=True) if self._out.is_terminal else text)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        spare: Sequence[str] = (),
        shorten: Collection[str] = (),
    ) -> None:
        """Print a table, all but its first column right-aligned; nothing in JSON mode.

        Args:
            columns: Their titles.
            rows: The cells.
            spare: Columns to leave out on a narrow terminal, the least important one first.
            shorten: Columns whose cells may be shortened there.
        """
        if self.json:
            return
        header, *lines = table_lines(
            columns,
            [list(map(printable, row)) for row in rows],
            self.width,
            right=columns[1:],
            spare=spare,
            shorten=shorten,
        )
        self._pause()
        self._out.print(header, style="bold")
        for line in lines:
            self._out.print(line)

    def error(self, error: KgsyncError) -> None:
        """Print an error on standard error, and as a document in JSON mode."""
        document = {"error": type(error).__name__, "message": str(error)}
        self.data({**document, "committed": self.committed} if self.committed else document)
        self._err.print(f"kgsync: {printable(str(error))}", style="red")

    @contextmanager
    def listening(self) -> Iterator[Events]:
        """Show the progress of a long command: bars on a terminal, plain lines elsewhere."""
        if not self._err.is_terminal:
            yield Events(_Lines(self._err))
            return
        columns = (
            TextColumn("{task.description:14}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._err, transient=True) as self._bars:
            yield Events(_Bars(self._bars))

    def _pause(self) -> None:
        """Hide the progress bar; the next phase shows it again."""
        if self._bars is not None:
            self._bars.stop()


class _Bars:
    """One line on the terminal: the phase, and a bar while it reports progress."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.PhaseStarted(name):
                self._progress.start()
                self._progress.reset(self._task, description=name, total=None)
            case events.Progress(name, done, total):
                self._progress.update(self._task, description=name, completed=done, total=total)


class _Lines:
    """One plain line per version, and one every few seconds in between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.Committed(version, graph_version, action, seconds):
                self._tell(f"version {version}: {action} from {graph_version}, {seconds:.1f} s")
            case events.PhaseStarted(name) if self._is_long_ago():
                self._tell(f"{name} ...")
            case events.Progress(name, done, total) if self._is_long_ago():
                self._tell(f"{name} {done}/{total}")

    def _is_long_ago(self) -> bool:
        return time.monotonic() - self._last > _SILENCE

    def _tell(self, line: str) -> None:
        self._console.out(line)
        self._last = time.monotonic()


output = Output()
"""The output of this process."""
