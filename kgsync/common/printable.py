"""Text from outside, in a form that a terminal or a log can only show.

A server's message or an IRI may hold what moves the cursor, sets the title of a window, turns the
direction of writing, or ends a line of a log. Such characters are shown as escapes. Joiners
(U+200C, U+200D), which some scripts need, stay.
"""

from __future__ import annotations

import logging
import re

__all__ = ["PrintableFormatter", "printable", "printable_json"]

_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of writing
    r"\u00ad\u180e\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # not seen
    r"\U000e0000-\U000e007f"  # tags
)
_CONTROL = re.compile(f"[{_HIDDEN}]")
_CONTROL_OR_BREAK = re.compile(f"[{_HIDDEN}\n\t]")


def printable(text: str, *, lines: bool = False) -> str:
    """The text with escapes in place of control characters.

    Args:
        text: Any text.
        lines: Whether it may have several lines.
    """
    return (_CONTROL if lines else _CONTROL_OR_BREAK).sub(_escape, text)


def printable_json(text: str) -> str:
    """A JSON document with escapes of JSON in place of control characters: the same data."""
    return _CONTROL.sub(_json_escape, text)


class PrintableFormatter(logging.Formatter):
    """Formats records of a log: a line each, but for a traceback."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The line of a record."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802
        """The traceback of a record."""
        return printable(super().formatException(ei), lines=True)  # type: ignore[arg-type]


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
