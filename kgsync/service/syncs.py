"""A sync as the schedule sees it."""

from __future__ import annotations

from typing import Any, Protocol

from kgsync.common.listener import AnyListener
from kgsync.graph.watch import StoreWatch
from kgsync.state.directory import State
from kgsync.state.report import StepReport

__all__ = ["ScheduledSync"]


class ScheduledSync(Protocol):
    """What can be run on a schedule: one graph."""

    listener: AnyListener
    """Receives the progress of a step, and may end the step by raising an exception."""

    @property
    def settings(self) -> Any:
        """A dataclass whose `schedule` says when to run; checks itself when it is made."""

    @property
    def state(self) -> State:
        """Where its versions are."""

    @property
    def watch(self) -> StoreWatch:
        """How long its store has worked."""

    def step(self) -> StepReport:
        """Take one graph version, if there is a new one."""
