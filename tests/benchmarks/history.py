"""Does a step cost more when the history is long? CPU and memory along many tiny versions.

`python -m tests.benchmarks.history --versions 1000` adds one version at a time to an embedded
store, steps, and then polls a few times when there is nothing new. Processor time is that of all
threads of this process: the first poll after a step bears what the store still does in the
background for that step, and has a column of its own. Other load on the machine shows in it all the
same, so that a piece of work that never changes is measured beside it, and the last ratios are
corrected by it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

import pyoxigraph as ox

from kgsync import KGSync
from kgsync.config import Settings
from kgsync.memory import resident_mb
from tests.benchmarks.table import aligned, machine
from tests.worlds import GRAPHS, quads, quick_settings, ring

_SIZE = 12
_POLLS = 5
"""Polls that find nothing new after a step, besides the first."""
_HEAD = (
    "versions",
    "step ms",
    "median ms",
    "first poll ms",
    "idle poll ms",
    "reference ms",
    "step ÷ first",
    "idle ÷ first",
    "resident MB",
)


@dataclass(frozen=True)
class Window:
    """Some steps in a row."""

    last: int
    """The version after them."""
    steps: list[float]
    """Processor seconds of each."""
    first_polls: list[float]
    """Processor seconds of the poll right after each step."""
    polls: list[float]
    """Processor seconds of each later poll that found nothing new."""
    reference: float
    """Processor seconds of work that never changes: how fast the machine was meanwhile."""
    resident: float
    """Megabytes."""


def main() -> None:
    """Print a line per window as it goes, and a table at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.history")
    parser.add_argument("--versions", type=int, default=1000)
    parser.add_argument("--window", type=int, default=50, help="steps in one row")
    parser.add_argument(
        "--kept", type=int, default=5, help="versions that stay in the store; 0 for all"
    )
    parser.add_argument("--open", action="store_true", help="a store held open, not its path")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        windows = []
        for window in _windows(Path(folder), options):
            windows.append(window)
            print("  ".join(_row(window, windows[0])), flush=True)
    kept = f"the last {options.kept} graphs" if options.kept else "all graphs"
    place = "an open store" if options.open else "a store on disk"
    print(f"\nCPU per step, {place} that keeps {kept}:\n")
    print(aligned([_HEAD, *(_row(window, windows[0]) for window in windows)]))


def _windows(folder: Path, options: argparse.Namespace) -> Iterator[Window]:
    path = folder / "kg"
    store = ox.Store(str(path))
    sync = KGSync(
        store if options.open else path, GRAPHS, state=folder / "state", settings=_settings()
    )
    if not options.open:
        del store
    steps: list[float] = []
    first_polls: list[float] = []
    polls: list[float] = []
    references: list[float] = []
    for number in range(1, options.versions + 1):
        _load(store if options.open else ox.Store(str(path)), number, options.kept)
        steps.append(_cpu(sync, number))
        first_polls.append(_cpu(sync, number))
        polls.append(mean(_cpu(sync, number) for _ in range(_POLLS)))
        references.append(_reference())
        if number % options.window == 0 or number == options.versions:
            # The first steps import, compile and train from scratch.
            skipped = min(10, number - 1) if number == options.window else 0
            reference = mean(references[skipped:])
            yield Window(
                number,
                steps[skipped:],
                first_polls[skipped:],
                polls[skipped:],
                reference,
                resident_mb(),
            )
            steps, first_polls, polls, references = [], [], [], []


def _load(store: ox.Store, number: int, kept: int) -> None:
    """One more version: a ring with one more edge, at another place every time."""
    edges = {*ring(_SIZE), (f"e{number % _SIZE}", "likes", f"e{number * 7 % _SIZE}")}
    store.extend(quads(f"{number:06d}", sorted(edges)))
    if kept and number > kept:
        store.remove_graph(ox.NamedNode(GRAPHS.format(version=f"{number - kept:06d}")))


def _cpu(sync: KGSync, expected: int) -> float:
    began = time.process_time()
    report = sync.step()
    spent = time.process_time() - began
    if report.version != expected:
        sys.exit(f"version {report.version} where {expected} was expected")
    return spent


def _reference() -> float:
    began = time.process_time()
    for _ in range(20):
        json.loads(json.dumps({str(number): [number] * 5 for number in range(200)}))
    return time.process_time() - began


def _row(window: Window, first: Window) -> tuple[str, ...]:
    step, poll = mean(window.steps), mean(window.polls)
    slower = window.reference / first.reference
    return (
        f"{window.last:,}",
        f"{step * 1e3:.1f}",
        f"{median(window.steps) * 1e3:.1f}",
        f"{mean(window.first_polls) * 1e3:.2f}",
        f"{poll * 1e3:.2f}",
        f"{window.reference * 1e3:.2f}",
        f"{step / mean(first.steps) / slower:.2f}",
        f"{poll / mean(first.polls) / slower:.2f}",
        f"{window.resident:.0f}",
    )


def _settings() -> Settings:
    quick = quick_settings()
    return replace(
        quick,
        training=replace(quick.training, epochs=3),
        update=replace(quick.update, change_epochs=1, general_epochs=1),
    )


if __name__ == "__main__":
    main()
