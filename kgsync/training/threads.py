"""Work on several CPU threads, how many torch uses, and that its idle ones sleep."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

__all__ = ["on_threads", "usable_cpus", "use_threads"]

Result = TypeVar("Result")


def on_threads(work: Callable[[int], Result], count: int) -> list[Result]:
    """Do work once on each of so many threads, this one being the first.

    Args:
        work: Takes the number of its thread, from 0.
        count: How many threads.

    Returns:
        What each has returned, in the order of their numbers.
    """
    if count == 1:
        return [work(0)]
    with ThreadPoolExecutor(count - 1) as pool:
        others = pool.map(work, range(1, count))  # which begin at once
        return [work(0), *others]


def use_threads(count: int) -> None:
    """Set torch's thread count; 0 takes every CPU this process may run on.

    Idle OpenMP threads that spin made torch 16 to 31 times slower beside one other busy process,
    so they are told to sleep. That setting is read once, when torch is loaded. In a fork of a
    process that has used several, torch would wait for them forever: there it gets one.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch

    count = count or usable_cpus()
    if count > 1 and _process_with_threads() != os.getpid():
        count = 1
    torch.set_num_threads(count)


@cache
def _process_with_threads() -> int:
    """The first to ask for several threads of torch; no fork of it has them."""
    import torch

    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
    return os.getpid()


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
