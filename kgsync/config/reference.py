"""All settings, for people to read: plain text in 80 columns, or Markdown."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

from kgsync.common.declare import Setting, every_section, settings_of
from kgsync.config.settings import Settings
from kgsync.config.template import toml_value
from kgsync.config.values import TYPES, bounds
from kgsync.errors import ConfigError

__all__ = ["Section", "as_data", "as_markdown", "as_text", "reference"]

_WIDTH = 80
_KINDS = {
    "duration": 'a duration like "30s" or "15m"',
    "path": "a path, relative to the file",
    "store": "a path, relative to the file, or a URL",
}


class Section(NamedTuple):
    """A section and what to tell of it."""

    name: str
    help: str
    settings: tuple[Setting, ...]
    same_as: str | None
    """An earlier section that has the same keys."""


def reference(wanted: str | None = None) -> list[Section]:
    """The sections with their settings.

    Args:
        wanted: A section ("source", with those inside it) or a setting ("source.store", "store",
            or a former key); all sections if not given.

    Raises:
        ConfigError: There is no such section or setting.
    """
    sections = list(_sections())
    if wanted is None:
        return sections
    found = [s for s in sections if s.name == wanted or s.name.startswith(f"{wanted}.")]
    if found:
        return [found[0]._replace(same_as=None), *found[1:]]
    reduced = (_reduced(section, wanted) for section in sections)
    found = [section for section in reduced if section.settings]
    if not found:
        known = [name for s in sections for each in s.settings for name in _names(each, s.name)]
        close = difflib.get_close_matches(wanted, [*(s.name for s in sections), *known], 1)
        hint = f"did you mean {close[0]!r}?" if close else "`kgsync settings` lists all"
        raise ConfigError(f"there is no section or setting {wanted!r}; {hint}")
    return found


def as_text(sections: list[Section]) -> str:
    """Plain text in 80 columns."""
    lines: list[str] = []
    for section in sections:
        lines += [*_wrapped(f"[{section.name}]  {section.help}", "", "  "), ""]
        if section.same_as:
            lines += [f"  The keys are those of [{section.same_as}].", ""]
            continue
        for setting in section.settings:
            value = "(not set)" if setting.default is None else f"= {toml_value(setting.default)}"
            lines += _wrapped(f"{setting.key} {value}", "  ", "      ")
            lines += _wrapped(setting.help, "      ", "      ")
            lines += _wrapped(". ".join(_facts(setting)) + ".", "      ", "      ")
            lines.append("")
    return "\n".join(lines)


def as_markdown(sections: list[Section]) -> str:
    """One table per section."""
    lines: list[str] = []
    for section in sections:
        lines += [f"## `[{section.name}]`", "", _escaped(section.help), ""]
        if section.same_as:
            lines += [f"The keys are those of `[{section.same_as}]`.", ""]
            continue
        lines += ["| key | default | |", "|---|---|---|"]
        for setting in section.settings:
            text = _escaped(f"{setting.help} {'. '.join(_facts(setting))}.")
            value = "" if setting.default is None else f"`{toml_value(setting.default)}`"
            lines.append(f"| `{setting.key}` | {value} | {text} |")
        lines.append("")
    return "\n".join(lines)


def as_data(sections: list[Section]) -> list[dict[str, Any]]:
    """One record per setting, for JSON."""
    return [
        {
            "section": section.name,
            "key": setting.key,
            "type": setting.kind if setting.kind != "value" else TYPES[setting.type],
            "default": setting.default,
            "choices": list(setting.choices),
            "bounds": bounds(setting),
            "help": setting.help,
            "paper": setting.paper,
            "formerly": setting.was,
        }
        for section in sections
        for setting in section.settings
    ]


def _sections() -> Iterator[Section]:
    seen: dict[type, str] = {}
    for name, section, text in every_section(Settings):
        yield Section(name, text, tuple(settings_of(section).values()), seen.get(section))
        seen.setdefault(section, name)


def _facts(setting: Setting) -> Iterator[str]:
    """Type, bounds and other names, each without its full stop."""
    if setting.choices:
        yield f"One of {', '.join(map(toml_value, setting.choices))}"
    else:
        kind, limits = _KINDS.get(setting.kind, TYPES[setting.type]), bounds(setting)
        text = f"{kind}, {limits}" if limits else kind
        yield text[0].upper() + text[1:]
    if setting.default is None and setting.example is not None:
        yield f"Example: {toml_value(setting.example)}"
    if setting.paper:
        yield f"In the paper: {setting.paper}"
    if setting.was:
        yield f"Formerly: {setting.was}"


def _names(setting: Setting, section: str) -> list[str]:
    """All names by which people may ask for a setting."""
    keys = [setting.key, setting.was] if setting.was else [setting.key]
    return [*keys, *(f"{section}.{key}" for key in keys)]


def _reduced(section: Section, wanted: str) -> Section:
    """A section with only the settings that are wanted."""
    chosen = (each for each in section.settings if wanted in _names(each, section.name))
    return section._replace(settings=tuple(chosen), same_as=None)


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\|<>[]{}*_`$" else c for c in text)
