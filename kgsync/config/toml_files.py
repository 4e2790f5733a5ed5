"""From a TOML file to sections: every key known, renamed keys translated, paths made absolute."""

from __future__ import annotations

import difflib
import logging
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kgsync.common.declare import Setting, parts_of, settings_of, wrong
from kgsync.config.values import check_value
from kgsync.errors import ConfigError

__all__ = ["SettingsFile", "build", "with_new_names"]

T = TypeVar("T")
_log = logging.getLogger(__name__)


class SettingsFile:
    """The text of a `kgsync.toml`, and the data in it."""

    def __init__(self, path: Path) -> None:
        """Read and parse the file.

        Raises:
            ConfigError: It cannot be read, or is not TOML.
        """
        self._path = path
        self._renamed: dict[str, str] = {}
        try:
            self._text = path.read_text(encoding="utf-8")
            self.data = tomllib.loads(self._text)
        except OSError as error:
            raise ConfigError(
                f"cannot read {path}: {error.strerror}; run `kgsync init` first"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not valid TOML: {error}") from None
        except ValueError:  # what Python says of such a path
            raise ConfigError(f"the path {str(path)!r} contains a NUL character") from None

    def build(self, root: type[T]) -> T:
        """Make a dataclass and its sections of the data.

        Raises:
            ConfigError: A key or value is wrong; the message says where in the file.
        """
        try:
            for old, new in _translate(root, self.data):
                place = self.place([old])
                _log.warning("%s: %s is now called %s; please rename it", place, old, new)
                self._renamed[new] = old
            return build(root, self.data, folder=self._path.parent)
        except ConfigError as error:
            if not error.keys:
                raise
            raise ConfigError(f"{error} ({self.place(error.keys)})") from None

    def place(self, keys: Iterable[str]) -> str:
        """Where the first of some keys stands that is in the file: "kgsync.toml, line 12"."""
        lines = self._text.split("\n")
        paths = [tuple(self._renamed.get(key, key).split(".")) for key in keys]
        # A key in a table on one line is found by that table.
        for path in (*paths, *(path[:-1] for path in paths if len(path) > 1)):
            line = _line_of(lines, path)
            if line:
                return f"{self._path}, line {line}"
        return str(self._path)


def build(root: type[T], data: Any, section: str = "", folder: Path | None = None) -> T:
    """Make a dataclass and its sections of plain data.

    Args:
        root: The dataclass.
        data: A table of keys.
        section: What to call it in messages.
        folder: What relative paths are relative to.

    Raises:
        ConfigError: A key is unknown, or a value is wrong.
    """
    if not isinstance(data, dict):
        raise wrong("", (section,), f"[{section}] must be a table of keys, not {data!r}")
    settings, parts = settings_of(root), parts_of(root)
    made: dict[str, Any] = {}
    for key, value in data.items():
        if key in parts:
            inner = f"{section}.{key}" if section else key
            made[key] = build(parts[key].section, value, inner, folder)
        elif key in settings:
            check_value(settings[key], value, section)
            made[key] = _converted(settings[key], value, folder)
        else:
            raise _unknown(key, [*settings, *parts], section)
    return root(**made)


def with_new_names(root: type, data: dict[str, Any]) -> dict[str, Any]:
    """Settings that were stored as plain data, under the names that they have now."""
    _translate(root, data)
    return data


def _translate(root: type, data: dict[str, Any], section: str = "") -> list[tuple[str, str]]:
    """Rename former keys in place.

    Returns:
        Each key that was renamed, and its new name.
    """
    done, name = [], section + "." if section else ""
    for new, setting in settings_of(root).items():
        old = setting.was
        if old is None or old not in data:
            continue
        if new in data:
            raise wrong(section, (old,), f"{old} is the former name of {new}; remove it")
        data[new] = data.pop(old)
        done.append((f"{name}{old}", f"{name}{new}"))
    for key, (inner, _) in parts_of(root).items():
        if isinstance(data.get(key), dict):
            done += _translate(inner, data[key], f"{name}{key}")
    return done


def _converted(setting: Setting, value: Any, folder: Path | None) -> Any:
    if setting.kind in ("path", "store") and folder is not None and "://" not in value:
        return os.path.normpath(folder / value)
    return setting.type(value) if setting.type in (float, tuple) else value


def _unknown(key: str, known: Sequence[str], section: str) -> ConfigError:
    close = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    if section:
        return wrong(section, (key,), f"there is no key {key!r}; {hint}")
    return wrong("", (key,), f"there is no section {key!r}; {hint}")


def _line_of(lines: list[str], path: Sequence[str]) -> int:
    """The line of a key or table, counted from 1; 0 if it is not found.

    The parser tells no lines. But the text up to a line can be parsed, too: the key stands on the
    first line after which the parser knows it. A value that goes on for more lines is cut off.
    """
    looks_right = re.compile(rf"(?<!\w){re.escape(path[-1])}[\"']?\s*[=.\]]")
    for number, line in enumerate(lines):
        if looks_right.search(line):
            before = "\n".join(lines[:number])
            for candidate in (line, line.partition("=")[0] + "= 0"):
                if _has(f"{before}\n{candidate}", path):
                    return number + 1
    return 0


def _has(text: str, path: Sequence[str]) -> bool:
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return False
        found = found[key]
    return True
