"""Resident memory of this process, in megabytes, and its peak."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["forget_peak", "peak", "resident"]

_STATUS = Path("/proc/self/status")


def forget_peak() -> None:
    """Let the peak start anew, where the kernel can: loading has its own."""
    if _STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5")


def resident() -> float:
    """Resident memory now; where the system does not tell, its peak."""
    return _field("VmRSS")


def peak() -> float:
    """Most resident memory so far, or since it was forgotten."""
    return _field("VmHWM")


def _field(name: str) -> float:
    if _STATUS.exists():
        lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return int(lines[name].split()[0]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
