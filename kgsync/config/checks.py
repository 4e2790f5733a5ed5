"""Checks all settings: each section by its declarations, then rules across sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgsync.common.declare import Ruled, every_section, settings_of, wrong
from kgsync.config.values import check_value
from kgsync.errors import ConfigError
from kgsync.training.rules import learning_rules

if TYPE_CHECKING:
    from kgsync.config.settings import Settings

__all__ = ["check"]


def check(settings: Settings) -> None:
    """Check every value and every rule.

    Raises:
        ConfigError: One is wrong; the message names it.
    """
    for name, section, _ in every_section(type(settings)):
        chosen: Any = settings
        for key in name.split("."):
            chosen = getattr(chosen, key)
        if not isinstance(chosen, section):
            given = type(chosen).__name__  # not its value, which may hold a secret
            raise ConfigError(f"[{name}] must be of type {section.__name__}, not {given}")
        _check_section(chosen, name)
    for holds, keys, message in learning_rules(settings):
        if not holds:
            raise wrong("", keys, message)


def _check_section(chosen: Any, name: str) -> None:
    for key, setting in settings_of(type(chosen)).items():
        value = getattr(chosen, key)
        if value is not None or not setting.optional:
            check_value(setting, value, name)
    if isinstance(chosen, Ruled):
        for holds, keys, message in chosen.rules():
            if not holds:
                raise wrong(name, keys, message)
