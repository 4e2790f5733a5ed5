"""The settings of the schedule, `[schedule]`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ScheduleSettings"]


@dataclass(frozen=True)
class ScheduleSettings:
    """When `kgsync run` steps, and which changes are worth a step; durations like "15m"."""

    every: str | None = None
    """Time from one run to the next; the first one is at once."""
    cron: str | None = None
    """Instead: a cron line of five fields, in local time."""
    jitter: str = "0s"
    """Put off every run by a random time of at most so long."""
    retries: int = 5
    """After an error that may pass, try so often before waiting for the next regular run."""
    retry_after: str = "10s"
    """Wait about so long before the first such try, and twice as long before each further one."""
    retry_most: str = "10m"
    """But never longer than that."""
    latest_only: bool = False
    """Take the newest graph version only; otherwise every version is a step of its own."""
    max_load: float = 0.1
    """Share of the time that an endpoint may work for this sync: if a run takes it longer, the next
    one is put off."""
    min_change: int = 0
    """Let changes gather until so many triples were added or deleted."""
    max_wait: str = "1d"
    """Take smaller changes, too, once the oldest of them has waited so long."""
