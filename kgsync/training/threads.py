"""How many CPU threads torch uses, and that idle ones sleep."""

from __future__ import annotations

import os
import sys

__all__ = ["usable_cpus", "use_threads"]


def use_threads(count: int) -> None:
    """Set torch's thread count; 0 takes every CPU this process may run on.

    Idle OpenMP threads that spin made torch 16 to 31 times slower beside one other busy process,
    so they are told to sleep. That setting is read once, when torch is loaded.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch

    torch.set_num_threads(count or usable_cpus())


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
