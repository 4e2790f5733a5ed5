"""A JSON schema (draft 2020-12) of `kgsync.toml`, for editors that complete and check it."""

from __future__ import annotations

from typing import Any

from kgsync.common.declare import Setting, parts_of, settings_of
from kgsync.common.durations import PATTERN
from kgsync.config.settings import Settings

__all__ = ["schema"]

_TYPES: dict[type, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    tuple: {"type": "array", "items": {"type": "string"}},
    dict: {"type": "object", "additionalProperties": {"type": "string"}},
}


def schema() -> dict[str, Any]:
    """The schema of the whole file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kgsync.toml",
        **_table(Settings, "Settings of kgsync; paths are relative to the file."),
    }


def _table(section: type, text: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for key, setting in settings_of(section).items():
        properties[key] = _value(setting)
        if setting.was:
            former = f"Now called {key}. {setting.help}"
            properties[setting.was] = {**_value(setting), "description": former, "deprecated": True}
    for key, (inner, about) in parts_of(section).items():
        properties[key] = _table(inner, about)
    return {
        "type": "object",
        "description": text,
        "properties": properties,
        "additionalProperties": False,
    }


def _value(setting: Setting) -> dict[str, Any]:
    made = {**_TYPES[setting.type], "description": setting.help}
    if setting.paper:
        made["description"] += f" In the paper: {setting.paper}."
    if setting.default is not None:
        # A tuple is an array in JSON, but not in Python.
        made["default"] = list(setting.default) if setting.type is tuple else setting.default
    elif setting.example is not None:
        made["examples"] = [setting.example]
    if setting.choices:
        made["enum"] = list(setting.choices)
    if setting.kind == "duration":
        made["pattern"] = f"^{PATTERN}$"
        return made  # a schema cannot compare durations
    limits = {
        "minimum": setting.at_least,
        "exclusiveMinimum": setting.above,
        "maximum": setting.at_most,
    }
    limits = {name: bound for name, bound in limits.items() if bound is not None}
    return {**made, "anyOf": [{"const": 0}, limits]} if setting.or_zero else {**made, **limits}
