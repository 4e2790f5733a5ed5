"""The commented `kgsync.toml` of `kgsync init`: every setting with its default and its help."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from kgsync.common.declare import Setting, every_section, settings_of
from kgsync.config.settings import Settings

__all__ = ["template", "toml_value"]

_COLUMN = 31
"""Where comments begin, unless a value is longer."""
_WIDTH = 100
_HEAD = """\
# Settings of kgsync. Commented lines show the defaults, or an example where there is none.
# Paths are relative to this file. `kgsync settings` explains every key.
"""


def template(values: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a settings file.

    Args:
        values: By section and key: what the file sets; everything else is a comment.
    """
    lines = [_HEAD]
    shown: dict[type, str] = {}
    for name, section, text in every_section(Settings):
        if section in shown:
            same = f"{text} The keys are those of [{shown[section]}]."
            lines += [*_lines(f"# [{name}]", same), ""]
            continue
        shown[section] = name
        given = values.get(name, {})
        lines += _lines(f"[{name}]", text)
        for key, setting in settings_of(section).items():
            lines += _lines(_assignment(setting, given.get(key)), _comment(setting))
        lines.append("")
    return "\n".join(lines)


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            escaped = "".join(f"\\u{ord(c):04x}" if _is_control(c) else c for c in value)
            return '"' + escaped.replace('"', '\\"') + '"'
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case dict():
            return (
                "{"
                + ", ".join(f"{toml_value(k)} = {toml_value(v)}" for k, v in value.items())
                + "}"
            )
        case _:
            return repr(value)


def _assignment(setting: Setting, value: Any) -> str:
    if value is not None:
        return f"{setting.key} = {toml_value(value)}"
    shown = setting.example if setting.default is None else setting.default
    return f"# {setting.key} = {toml_value(shown)}"


def _comment(setting: Setting) -> str:
    if all(choice in setting.help for choice in setting.choices):
        return setting.help
    return f"{setting.help} One of: {', '.join(setting.choices)}."


def _lines(code: str, comment: str) -> list[str]:
    """A line with a comment; what does not fit goes on below, at the same column."""
    return textwrap.wrap(
        comment,
        _WIDTH,
        initial_indent=f"{code:{_COLUMN - 1}} # ",
        subsequent_indent=f"{'#':{_COLUMN}}# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _is_control(character: str) -> bool:
    return character == "\\" or character < " " or character == "\x7f"
