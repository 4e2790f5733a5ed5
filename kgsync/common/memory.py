"""Memory used by this process, per step, and memory available."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["available_bytes", "forget_peak", "peak_mb", "resident_mb"]

_PROCESS = Path("/proc/self")


def forget_peak() -> None:
    """Reset the peak where the kernel supports it; elsewhere it is that of the whole process."""
    with suppress(OSError):
        (_PROCESS / "clear_refs").write_text("5")


def peak_mb() -> float:
    """Most resident memory so far, or since it was forgotten, in megabytes."""
    return _field("VmHWM")


def resident_mb() -> float:
    """Resident memory now; where the system does not report it, its peak."""
    return _field("VmRSS")


def available_bytes() -> int | None:
    """How much memory could be had without swapping; None where the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(dict(line.split(":", 1) for line in lines)["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _field(name: str) -> float:
    try:
        lines = (_PROCESS / "status").read_text().splitlines()
    except OSError:
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return int(dict(line.split(":", 1) for line in lines)[name].split()[0]) / 1024
