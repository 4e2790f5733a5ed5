"""Report the progress of a step to listeners: phases with their times, and other events."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias, runtime_checkable

from kgsync.common.events import Event, Hearer, PhaseStarted, Progress

__all__ = ["AnyListener", "Events", "Listener", "Phases", "SilentListener"]

_log = logging.getLogger(__name__)


@runtime_checkable
class Listener(Protocol):
    """Receives the start of each phase, and progress within long phases."""

    def phase(self, name: str) -> None:
        """A phase begins."""

    def progress(self, name: str, done: int, total: int) -> None:
        """Progress within a long phase."""


AnyListener: TypeAlias = Hearer | Listener
"""A function that takes every event, or an object with `phase` and `progress`."""


class SilentListener:
    """Ignores all events."""

    def phase(self, name: str) -> None:
        """Ignored."""

    def progress(self, name: str, done: int, total: int) -> None:
        """Ignored."""


class Events:
    """Passes events to several listeners, in order; is itself a listener of both kinds."""

    def __init__(self, *listeners: AnyListener) -> None:
        """Set the listeners."""
        self._hearers = tuple(map(_hearer, listeners))

    def __call__(self, event: Event) -> None:
        """Tell an event to every listener.

        What a listener raises on a phase or on progress ends the step. On any other event it is
        logged: a listener that fails must neither hide an error nor stop a schedule.
        """
        for hear in self._hearers:
            if isinstance(event, PhaseStarted | Progress):
                hear(event)
                continue
            try:
                hear(event)
            except Exception:  # noqa: BLE001  it is not ours, and must not stop us
                _log.exception("a listener failed on %s", type(event).__name__)

    def phase(self, name: str) -> None:
        """Report the start of a phase."""
        self(PhaseStarted(name))

    def progress(self, name: str, done: int, total: int) -> None:
        """Report progress within a long phase."""
        self(Progress(name, done, total))


class Phases:
    """Times the phases of one step."""

    def __init__(self, listener: AnyListener) -> None:
        """Start with no phase."""
        self.listener = Events(listener)
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


def _hearer(listener: AnyListener) -> Hearer:
    if callable(listener):
        return listener

    def hear(event: Event) -> None:
        match event:
            case PhaseStarted(phase):
                listener.phase(phase)
            case Progress(phase, done, total):
                listener.progress(phase, done, total)

    return hear
