"""Spans of time as people write them: "30s", "15m", "2h", "1d"."""

from __future__ import annotations

import re

from kgsync.errors import ConfigError

__all__ = ["PATTERN", "seconds_of"]

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
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"{what} must be a number with a unit (s, m, h or d), like 30s, 15m, 2h or 1d, "
            f"not {text!r}"
        )
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds > _LONGEST_DAYS * _UNITS["d"]:
        raise ConfigError(f"{what} must be at most {_LONGEST_DAYS}d, not {text!r}")
    return seconds
