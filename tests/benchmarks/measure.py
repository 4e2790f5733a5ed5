"""One contestant in a fresh process: seconds, and the memory it grew by while the clock ran."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median_low

from kgsync.common.memory import forget_peak, peak_mb, resident_mb
from tests.benchmarks.data import Data, build
from tests.benchmarks.reading import CASES

__all__ = ["Measurement", "build_data", "measure", "typical"]


@dataclass(frozen=True)
class Measurement:
    """What one process reports about itself; memory in megabytes."""

    preparing: float
    """Seconds before the clock starts: imports, opening, loading."""
    seconds: float
    cpu: float
    """Processor seconds of all threads: other load on the machine hardly shows in them."""
    before: float
    """Resident memory when the clock starts."""
    peak: float
    """Most resident memory while it runs."""
    numbers: dict[str, int]
    """Sizes of the results."""

    @property
    def growth(self) -> float:
        """Memory that the timed work needed."""
        return self.peak - self.before


def measure(data: Data, case: str, contestant: str) -> Measurement:
    """Run one contestant in a process of its own."""
    return Measurement(**json.loads(_child(data, case, contestant)))


def build_data(data: Data) -> None:
    """Make the files in a process of its own: a forked child starts with its parent's peak."""
    _child(data)


def typical(runs: Sequence[Measurement]) -> Measurement:
    """The run of median time."""
    middle = median_low(run.seconds for run in runs)
    return next(run for run in runs if run.seconds == middle)


def _child(data: Data, *names: str) -> str:
    command = [sys.executable, "-m", __spec__.name, str(data.folder), str(data.edges), *names]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _measure_here(data: Data, case: str, contestant: str) -> Measurement:
    started = time.perf_counter()
    run = CASES[case].contestants[contestant](data)
    gc.collect()
    forget_peak()
    before = resident_mb()
    clock, cpu = time.perf_counter(), time.process_time()
    result = run()
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - clock
    numbers = {name: len(value) for name, value in result.items()}
    return Measurement(clock - started, seconds, cpu, before, peak_mb(), numbers)


if __name__ == "__main__":
    folder, edges, *names = sys.argv[1:]
    if names:
        print(json.dumps(asdict(_measure_here(Data(Path(folder), int(edges)), *names))))
    else:
        build(Data(Path(folder), int(edges)))
