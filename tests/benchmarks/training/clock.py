"""A clock that a training loop calls after every epoch, whoever the loop belongs to."""

from __future__ import annotations

import time
from statistics import median

__all__ = ["Clock", "Enough"]


class Enough(Exception):  # noqa: N818  # an end, not an error
    """The clock has seen enough epochs; it leaves the loop from inside."""


class Clock:
    """Times whole epochs; the first is for warming up."""

    def __init__(self, seconds: float, epochs: int) -> None:
        """Stop after so many seconds or epochs, whichever comes first, but after one at least."""
        self._seconds, self._epochs = seconds, epochs
        self._ends: list[float] = []

    def __call__(self) -> None:
        """Note the end of an epoch.

        Raises:
            Enough: No more epochs are needed.
        """
        self._ends.append(time.perf_counter())
        timed = len(self._ends) - 1
        if timed and (timed >= self._epochs or self._ends[-1] - self._ends[0] >= self._seconds):
            raise Enough

    @property
    def epoch(self) -> float:
        """Median seconds of an epoch."""
        return median(b - a for a, b in zip(self._ends, self._ends[1:], strict=False))
