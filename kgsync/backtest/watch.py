"""Times a training run by phase, and measures the model at its validations off the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from kgsync.backtest.record import Moment
from kgsync.common.cost import Cost
from kgsync.common.listener import Listener, Phases, SilentListener
from kgsync.evaluation.ranking import LinkPrediction
from kgsync.evaluation.stability import MeanChange
from kgsync.models.base import Kind, Model
from kgsync.training.problem import Problem

__all__ = ["Times", "Watch"]


@dataclass(frozen=True)
class Times:
    """Wall time, and CPU time of all threads."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @classmethod
    def now(cls) -> Times:
        """The readings of the clocks."""
        return cls(time.perf_counter(), time.process_time())

    def __add__(self, other: Times) -> Times:
        """Both together."""
        return Times(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds)

    def __sub__(self, other: Times) -> Times:
        """What has passed since the other."""
        return Times(self.seconds - other.seconds, self.cpu_seconds - other.cpu_seconds)


class Watch(Phases):
    """The phases of a run, timed without the time spent here."""

    def __init__(self, listener: Listener, problem: Problem) -> None:
        """Start the clocks."""
        super().__init__(_ProgressOnly(listener))
        self.cost = Cost()
        self.moments: list[Moment] = []
        self._times: dict[str, Times] = {}
        self._problem = problem
        self._last: Model | None = None
        self._off_clock = Times()
        self._start = Times.now()

    def so_far(self) -> Times:
        """Time since the start."""
        return Times.now() - self._start - self._off_clock

    def by_phase(self) -> dict[str, dict[str, float]]:
        """The times of the phases."""
        return {name: asdict(times) for name, times in self._times.items()}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Run one phase; its time is added up under its name."""
        start = self.so_far()
        try:
            yield
        finally:
            self._times[name] = self._times.get(name, Times()) + self.so_far() - start

    def see(self, epoch: int, model: Model, quality: LinkPrediction) -> None:
        """Note a validation."""
        arrived, seconds = Times.now(), self.so_far().seconds
        now = type(model)(model.settings, model.copy_tables())
        change: dict[Kind, MeanChange | None] = {}
        if self._last is not None:
            change = self._problem.stability(self._last, self._problem.active, now)
        entities, relations = change.get("entity"), change.get("relation")
        self.moments.append(
            Moment(
                epoch,
                seconds,
                quality.mrr,
                quality.hits[10],
                entities.nmc if entities else None,
                relations.nmc if relations else None,
            )
        )
        self._last = now
        self._off_clock += Times.now() - arrived


class _ProgressOnly(SilentListener):
    """Passes progress on: the phases of a backtest are its versions and methods."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def progress(self, name: str, done: int, total: int) -> None:
        """Pass it on."""
        self._listener.progress(name, done, total)
