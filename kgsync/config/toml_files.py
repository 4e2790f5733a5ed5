"""From TOML data to frozen dataclasses, every key and type checked; and what Python code gives."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, cast

from kgsync.errors import ConfigError

__all__ = ["build", "check_types"]

T = TypeVar("T")


def build(cls: type[T], data: Any, where: str) -> T:
    """A dataclass from TOML data, every key and type checked."""
    if not isinstance(data, dict):
        raise ConfigError(f"{where} must be a table of keys, not {data!r}")
    hints = typing.get_type_hints(cls)
    known = [f.name for f in fields(cast("Any", cls))]
    for key in data:
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}"
            raise ConfigError(f"{where} has no key {key!r}; {hint}")
    values = {key: _value(hints[key], value, f"{where}: {key}") for key, value in data.items()}
    return cls(**values)


def check_types(section: Any, where: str) -> None:
    """See that a dataclass that was made in Python holds what it says.

    Args:
        section: The dataclass.
        where: What to call it.

    Raises:
        ConfigError: A value is not of its type, or none of its choices.
    """
    for name, hint in typing.get_type_hints(type(section)).items():
        value, place = getattr(section, name), f"{where}: {name}"
        optional = isinstance(hint, types.UnionType) and type(None) in typing.get_args(hint)
        if is_dataclass(value):
            check_types(value, place)
        elif value is not None or not optional:
            _value(hint, value, place)


def _value(hint: Any, value: Any, where: str) -> Any:
    if is_dataclass(hint):
        return build(cast("type[Any]", hint), value, where)
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        (hint,) = (option for option in options if option is not type(None))
        return _value(hint, value, where)
    if origin is Literal and value not in options:
        raise ConfigError(f"{where} must be one of {', '.join(options)}, not {value!r}")
    if origin is dict and not _has_texts(value, dict):
        raise ConfigError(f"{where} must be a table of texts")  # it may hold a secret
    if origin is tuple and not _has_texts(value, (list, tuple)):
        raise ConfigError(f"{where} must be a list of texts, not {value!r}")
    if origin is not None:
        return tuple(value) if origin is tuple else value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{where} must be of type {hint.__name__}, not {value!r}")
    return value


def _has_texts(value: Any, kind: type[Any] | tuple[type[Any], ...]) -> bool:
    if not isinstance(value, kind):
        return False
    items: Iterable[Any] = value.values() if isinstance(value, dict) else value
    return all(isinstance(item, str) for item in items)
