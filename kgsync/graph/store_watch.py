"""Measures how long a store works on requests, and reports waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["StoreWatch"]


class StoreWatch:
    """Receives the times of all requests to one store."""

    def __init__(self) -> None:
        """Start with nothing heard."""
        self.busy_seconds = 0.0
        """Time in which a request was open, over all requests."""
        self.on_wait: Callable[[str | None], None] = _ignore
        """Called with the reason of a wait, and with None when it is over."""

    @contextmanager
    def working(self) -> Iterator[None]:
        """A request is open."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.busy_seconds += time.monotonic() - start

    @contextmanager
    def waiting(self, reason: str, seconds: float) -> Iterator[None]:
        """A wait before a request is retried."""
        self.on_wait(f"{reason}; the request is repeated in {seconds:.0f} s")
        try:
            yield
        finally:
            self.on_wait(None)


def _ignore(_: str | None) -> None:
    """Nobody listens."""
