"""Whether a value fits the declaration of its setting: type, choices and bounds."""

from __future__ import annotations

import math
from typing import Any

from kgsync.common.declare import Setting, wrong
from kgsync.common.durations import complaint_about, seconds_of

__all__ = ["TYPES", "bounds", "check_value"]

TYPES = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "true or false",
    tuple: "a list of strings",
    dict: "a table of strings",
}
"""What a type is called in messages."""


def check_value(setting: Setting, value: Any, section: str) -> None:
    """Check a value of the file, or of Python code.

    Args:
        setting: Its declaration.
        value: The value; not None.
        section: Where it stands, for the message.

    Raises:
        ConfigError: It has the wrong type, or is out of bounds.
    """
    said = _complaint(setting, value)
    if said:
        raise wrong(section, (setting.key,), f"{setting.key} {said}")


def bounds(setting: Setting) -> str:
    """The bounds in words: "at least 1", "between 0 and 1", "0 or at least 100"; empty if none."""
    low, above, high = setting.at_least, setting.above, setting.at_most
    if low is not None and high is not None:
        text = f"between {_shown(low)} and {_shown(high)}"
    else:
        parts = (("at least", low), ("above", above), ("at most", high))
        text = " and ".join(f"{name} {_shown(bound)}" for name, bound in parts if bound is not None)
    return f"0 or {text}" if setting.or_zero else text


def _complaint(setting: Setting, value: Any) -> str:
    if not _has_type(setting.type, value):
        # The values of a table may be secrets.
        shown = "" if setting.type is dict else f", not {value!r}"
        return f"must be {TYPES[setting.type]}{shown}"
    if setting.choices and value not in setting.choices:
        return f"must be one of {', '.join(setting.choices)}, not {value!r}"
    if setting.type is float and not math.isfinite(value):
        return f"must be a finite number, not {value!r}"
    if setting.kind in ("path", "store") and "\0" in value:
        return "contains a NUL character"
    if setting.kind == "duration" and (complaint := complaint_about(value)):
        return complaint
    return "" if _inside(setting, value) else f"must be {bounds(setting)}, not {value!r}"


def _inside(setting: Setting, value: Any) -> bool:
    number = seconds_of(value) if setting.kind == "duration" else value
    if setting.or_zero and number == 0:
        return True
    low, above, high = map(_number, (setting.at_least, setting.above, setting.at_most))
    return (
        (low is None or number >= low)
        and (above is None or number > above)
        and (high is None or number <= high)
    )


def _number(bound: float | str | None) -> float | None:
    return seconds_of(bound) if isinstance(bound, str) else bound


def _shown(bound: float | str | None) -> str:
    return bound if isinstance(bound, str) else f"{bound:,}"


def _has_type(type_: type, value: Any) -> bool:
    if type_ is tuple:
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    if type_ is dict:
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    if isinstance(value, bool):
        return type_ is bool
    return isinstance(value, (int, float) if type_ is float else type_)
