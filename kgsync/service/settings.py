"""The settings of the schedule, `[schedule]`, and those that guards are given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kgsync.common.declare import Rule, setting
from kgsync.source.settings import GatheringSettings, ReadingSettings

__all__ = ["GuardSettings", "ScheduleSettings"]


@dataclass(frozen=True)
class ScheduleSettings(GatheringSettings):
    """When `kgsync run` steps, and which changes are worth a step."""

    every: str | None = setting(
        None,
        "Time from one run to the next; the first one starts at once.",
        kind="duration",
        at_least="1s",
        example="15m",
    )
    cron: str | None = setting(
        None, "Instead of every: a cron line of five fields, in local time.", example="0 3 * * *"
    )
    jitter: str = setting(
        "0s", "Delay every run by a random time of at most this.", kind="duration"
    )
    retries: int = setting(
        5, "Retries after a transient error before waiting for the next regular run.", at_least=0
    )
    retry_after: str = setting(
        "10s",
        "Time before the first retry; it doubles before each further one.",
        kind="duration",
    )
    retry_most: str = setting("10m", "Longest time before a retry.", kind="duration")
    max_load: float = setting(
        0.1,
        "Share of the time that an endpoint may work for this sync; after a run that took longer, "
        "the next one is delayed.",
        above=0,
        at_most=1,
    )

    def rules(self) -> Iterator[Rule]:
        """What the bounds of the settings cannot say."""
        yield Rule(
            None in (self.every, self.cron), ("cron", "every"), "set every or cron, not both"
        )


class GuardSettings(ReadingSettings, Protocol):
    """The sections that guards are given."""

    @property
    def schedule(self) -> ScheduleSettings:
        """When and what to step; a limit of a guard may be declared there."""
