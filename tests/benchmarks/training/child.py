"""One task in a fresh process with its own number of threads; it reports numbers and its peak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from statistics import median_low
from typing import Any, TypeAlias

from kgsync.common.memory import peak_mb

__all__ = ["Numbers", "Task", "alone", "typical"]

Numbers: TypeAlias = dict[str, float]
Task: TypeAlias = Callable[..., Numbers]

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def alone(task: Task, threads: int = 1, **arguments: Any) -> Numbers | None:
    """What a task returns in a process of its own, and `peak` in megabytes; None if it fails.

    Args:
        task: A function of a module.
        threads: Threads that its libraries may use; also an argument of the task.
        arguments: Its other arguments, as JSON can hold them.
    """
    given = json.dumps({"threads": threads, **arguments})
    command = [sys.executable, "-W", "ignore", "-m", __spec__.name]
    done = subprocess.run(
        [*command, task.__module__, task.__name__, given],
        check=False,
        env=os.environ | dict.fromkeys(_THREADS, str(threads)),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{task.__name__}({given}) failed: {reason}", file=sys.stderr, flush=True)
        return None
    # What a library prints comes before.
    found: Numbers = json.loads(done.stdout.splitlines()[-1])
    return found


def typical(runs: Sequence[Numbers], key: str) -> Numbers:
    """The run with the median of a number."""
    middle = median_low(run[key] for run in runs)
    return next(run for run in runs if run[key] == middle)


def _main(module: str, name: str, given: str) -> None:
    task: Task = getattr(import_module(module), name)
    numbers = task(**json.loads(given))
    print("\n" + json.dumps(numbers | {"peak": peak_mb()}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
