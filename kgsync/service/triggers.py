"""When a scheduled sync runs: an interval, or a cron expression with cron's semantics."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from kgsync.common.durations import seconds_of
from kgsync.errors import ConfigError
from kgsync.service.settings import ScheduleSettings

__all__ = ["trigger_of"]

_DAYS = "sun", "mon", "tue", "wed", "thu", "fri", "sat"
_WEEKDAYS = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/([1-9]))?", re.ASCII)
"""All, one, or some in a row; of these every n-th."""


def trigger_of(schedule: ScheduleSettings) -> Any:
    """The APScheduler trigger of a schedule.

    Raises:
        ConfigError: There is no schedule, or the cron line is wrong.
    """
    jitter = seconds_of(schedule.jitter) or None
    if schedule.every is not None:
        return IntervalTrigger(seconds=seconds_of(schedule.every), jitter=jitter)
    if schedule.cron is None:
        raise ConfigError(
            "no schedule is set: use --every 15m or --cron '0 3 * * *', or set every or "
            "cron in [schedule]"
        )
    try:
        trigger = _cron(schedule.cron, jitter)
    except ValueError as error:
        raise ConfigError(
            f"schedule: cron must have five fields (minute, hour, day, month, weekday), like "
            f"'0 3 * * *', not {schedule.cron!r}: {error}"
        ) from None
    if trigger.get_next_fire_time(None, datetime.now().astimezone()) is None:
        raise ConfigError(f"schedule: cron = {schedule.cron!r} never matches a time")
    return trigger


def _cron(line: str, jitter: float | None) -> Any:
    minute, hour, day, month, weekday = _fields(line)
    times = {"minute": minute, "hour": hour, "month": month}
    days = {"day": day, "day_of_week": _weekdays(weekday)}
    if "*" in (day[:1], weekday[:1]):
        return CronTrigger(**times, **days, jitter=jitter)
    # For cron, a day of the month and a weekday are alternatives; for APScheduler both must hold.
    return OrTrigger([CronTrigger(**times, **{name: days[name]}) for name in days], jitter=jitter)


def _fields(line: str) -> list[str]:
    fields = line.split()
    if len(fields) != 5:
        raise ValueError(f"it has {len(fields)}")
    return fields


def _weekdays(field: str) -> str:
    """The weekdays by name: cron's 0 is Sunday, APScheduler's is Monday."""
    if field == "*":
        return field
    days: set[int] = set()
    for part in field.lower().split(","):
        match = _WEEKDAYS.fullmatch(part)
        if match is None:
            raise ValueError(f"no such weekdays: {part!r}")
        first, last, step = match.groups()
        start = _weekday(first or "0")
        end = _weekday(last) if last else start if first and not step else 6
        if end < start:
            end += 7
        days.update(day % 7 for day in range(start, end + 1, int(step or 1)))
    return ",".join(_DAYS[day] for day in sorted(days))


def _weekday(text: str) -> int:
    if text in _DAYS:
        return _DAYS.index(text)
    if text.isdecimal() and int(text) <= 7:
        return int(text)
    raise ValueError(f"no such weekday: {text!r}")
