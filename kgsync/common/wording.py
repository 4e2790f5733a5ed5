"""Numbers of things in words: 1 version, 2 versions."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """How many of a thing, in the right form.

    Args:
        count: How many.
        noun: The word for one.
        plural: The word for more; by default with an s, or with ies for a y.
    """
    if plural is None:
        plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
