"""The retry policy: which errors are retried, how often, and after how many seconds."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kgsync.errors import TransientStoreError

__all__ = ["Retry"]

T = TypeVar("T")

_LARGEST_EXPONENT = 30


@dataclass(frozen=True)
class Retry:
    """When a failed call is retried. An error with its own retry time is never retried here."""

    tries: float = math.inf
    """Total number of calls, including the first."""
    patience: float = math.inf
    """No call begins later than so many seconds after the first."""
    first: float = 0.0
    """Seconds before the second call; twice as many before each further one."""
    most: float = math.inf
    """The longest pause, in seconds."""
    jitter: bool = False
    """Shorten every pause by a random part, so that clients do not come back all at once."""
    transient: tuple[type[Exception], ...] = (TransientStoreError,)
    """Errors that are retried."""
    never: tuple[type[Exception], ...] = ()
    """Transient errors that the same call would meet again."""
    heeds_wait: bool = True
    """Whether an error that names its own time (`retry_after`) ends it: it is tried again then."""

    def call(
        self,
        function: Callable[[], T],
        pause: Callable[[float, Exception], None] = lambda seconds, _: time.sleep(seconds),
    ) -> T:
        """Call a function until it succeeds or fails for good.

        Args:
            function: The call.
            pause: Waits for so many seconds because of an error.

        Raises:
            Exception: The error of the last call.
        """
        began = time.monotonic()
        failures = 0
        while True:
            try:
                return function()
            except self.transient as error:
                failures += 1
                late = time.monotonic() - began > self.patience
                if late or failures >= self.tries or not self.is_passing(error):
                    raise
                pause(self.delay(failures), error)

    def is_passing(self, error: Exception) -> bool:
        """Whether the error is transient, so that a retry may succeed."""
        told_when = self.heeds_wait and getattr(error, "retry_after", 0.0) > 0
        return isinstance(error, self.transient) and not (
            told_when or isinstance(error, self.never)
        )

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        seconds = min(self.most, self.first * 2.0 ** min(failures - 1, _LARGEST_EXPONENT))
        return seconds * random.uniform(0.5, 1.0) if self.jitter else seconds  # noqa: S311
