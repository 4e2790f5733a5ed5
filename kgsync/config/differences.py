"""Naming the settings that have changed since something was made."""

from __future__ import annotations

import json
from typing import Any

from kgsync.errors import SettingsChangedError

__all__ = ["check_meaning", "differences"]


def check_meaning(now: dict[str, Any], then: dict[str, Any]) -> None:
    """Check that the settings that fix the meaning of the vectors have not changed.

    Args:
        now: The fingerprint of the settings.
        then: The fingerprint that was recorded with the vectors.

    Raises:
        SettingsChangedError: They have changed.
    """
    changed = sorted(key for key in now if now[key] != then.get(key))
    if changed:
        details = differences(*({key: tree.get(key) for key in changed} for tree in (then, now)))
        raise SettingsChangedError(
            f"settings that fix the meaning of the stored vectors have changed ({details}); "
            "change them back, or run `kgsync rebuild` to train from scratch"
        )


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
