"""Spans of time as people write them: "30s", "15m", "2h", "1d"."""

from __future__ import annotations

import re

from kgsync.errors import ConfigError

__all__ = ["PATTERN", "complaint_about", "seconds_of"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
PATTERN = r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([smhd])"
"""What a duration looks like, as a regular expression of any dialect."""
_DURATION = re.compile(PATTERN)
_LONGEST_DAYS = 3660


def seconds_of(text: str, what: str = "a duration") -> float:
    """How many seconds a duration has.

    Args:
        text: A number and a unit.
        what: What it is the duration of, for the message.

    Raises:
        ConfigError: It is not written so, or longer than ten years.
    """
    complaint = complaint_about(text)
    if complaint:
        raise ConfigError(f"{what} {complaint}")
    return _seconds(text) or 0.0


def complaint_about(text: str) -> str:
    """What is wrong with a duration, to follow its name in a message; empty if nothing is."""
    seconds = _seconds(text)
    if seconds is None:
        return f"must be a number with a unit (s, m, h or d), like 30s, 15m, 2h or 1d, not {text!r}"
    if seconds > _LONGEST_DAYS * _UNITS["d"]:
        return f"must be at most {_LONGEST_DAYS}d, not {text!r}"
    return ""


def _seconds(text: str) -> float | None:
    match = _DURATION.fullmatch(text.strip())
    return float(match[1]) * _UNITS[match[2]] if match else None
