"""Naming the settings that have changed since something was made."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["differences"]


def differences(then: dict[str, Any], now: dict[str, Any]) -> str:
    """The settings in which two trees of them differ, each as "section.key was A, is B"."""
    old, new = _flat(then), _flat(now)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return "; ".join(f"{name} was {_told(old, name)}, is {_told(new, name)}" for name in names)


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {name: value}
    parts = [_flat(part, f"{name}.{key}" if name else key) for key, part in value.items()]
    return {key: part for flat in parts for key, part in flat.items()}


def _told(settings: dict[str, Any], name: str) -> str:
    return json.dumps(settings[name], ensure_ascii=False) if name in settings else "not there"
