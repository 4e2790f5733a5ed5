"""Telling listeners how a step is getting on: phases with their times, progress, other events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias, runtime_checkable

from kgsync.common.events import Event, Hearer, PhaseStarted, Progress

__all__ = ["AnyListener", "Events", "Listener", "Phases", "SilentListener"]


@runtime_checkable
class Listener(Protocol):
    """Hears about phases as they begin, and about progress inside the long ones, and no more."""

    def phase(self, name: str) -> None:
        """A phase begins."""

    def progress(self, name: str, done: int, total: int) -> None:
        """A long phase has come so far."""


AnyListener: TypeAlias = Hearer | Listener
"""A function that takes every event, or an object with `phase` and `progress`."""


class SilentListener:
    """Tells nobody."""

    def phase(self, name: str) -> None:
        """Ignored."""

    def progress(self, name: str, done: int, total: int) -> None:
        """Ignored."""


class Events:
    """Tells several listeners, in their order; is a listener of both kinds itself."""

    def __init__(self, *listeners: AnyListener) -> None:
        """Name the listeners."""
        self._hearers = tuple(map(_hearer, listeners))

    def __call__(self, event: Event) -> None:
        """Tell an event. What a listener raises, the caller gets."""
        for hear in self._hearers:
            hear(event)

    def phase(self, name: str) -> None:
        """Tell that a phase begins."""
        self(PhaseStarted(name))

    def progress(self, name: str, done: int, total: int) -> None:
        """Tell that a long phase has come so far."""
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
