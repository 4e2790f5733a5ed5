"""Telling someone how a step is getting on: phases with their times, progress inside long ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Listener", "Phases", "SilentListener"]


class Listener(Protocol):
    """Hears about phases as they begin, and about progress inside the long ones."""

    def phase(self, name: str) -> None:
        """A phase begins."""

    def progress(self, name: str, done: int, total: int) -> None:
        """A long phase has come so far."""


class SilentListener:
    """Tells nobody."""

    def phase(self, name: str) -> None:
        """Ignored."""

    def progress(self, name: str, done: int, total: int) -> None:
        """Ignored."""


class Phases:
    """Times the phases of one step."""

    def __init__(self, listener: Listener) -> None:
        """Start with no phase."""
        self.listener = listener
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Run one phase; its time is added up under its name."""
        self.listener.phase(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
