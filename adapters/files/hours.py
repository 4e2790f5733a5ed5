"""The hour folders in a mirror of DBpedia Live: `2024/01/31/10`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from kgsync.errors import PermanentStoreError
from kgsync.graph.files.rdf_files import CHANGE, not_understood, strange_files

__all__ = ["check_hours", "hours_of"]

_HOUR = "%Y/%m/%d/%H"
_LEVELS = (r"\d{4}", r"\d\d", r"\d\d", r"\d\d")
"""Names of years, months, days and hours."""


def hours_of(root: Path) -> dict[str, Path]:
    """The hour folders by name, in order, including empty ones.

    Raises:
        PermanentStoreError: A folder is not an hour, or a file is in the wrong place.
    """
    found = dict(_below(root, root, 0))
    return dict(sorted(found.items()))


def _below(root: Path, place: Path, level: int) -> Iterator[tuple[str, Path]]:
    paths = sorted(path for path in place.iterdir() if not path.name.startswith("."))
    if level == len(_LEVELS):
        yield _hour(root, place), place
    # Files in the root itself are checked with everything else.
    known = [path for path in paths if level == len(_LEVELS) and CHANGE.fullmatch(path.name)]
    for path in strange_files(paths if level else [], known, numbered=True):
        if CHANGE.fullmatch(path.name):
            raise PermanentStoreError(
                f"{path} is not in an hour folder, like 2024/01/31/10; move it"
            )
        raise PermanentStoreError(not_understood(path))
    for path in paths:
        if not path.is_dir() or (level == 0 and not path.name.isdecimal()):
            continue
        if level == len(_LEVELS) or not re.fullmatch(_LEVELS[level], path.name):
            raise _no_hour(path)
        yield from _below(root, path, level + 1)


def _hour(root: Path, place: Path) -> str:
    name = place.relative_to(root).as_posix()
    try:
        datetime.strptime(name, _HOUR)
    except ValueError:
        raise _no_hour(place) from None
    return name


def _no_hour(path: Path) -> PermanentStoreError:
    return PermanentStoreError(
        f"{path} is neither an hour folder nor a parent of one: changes belong in folders like "
        "2024/01/31/10; rename it, or move it away"
    )


def check_hours(root: Path, hours: list[str], used: list[str]) -> None:
    """Check that no hour is missing between two hours with changes.

    An hour without changes has an empty folder: one that is missing was not fetched.

    Args:
        root: The folder of the changes.
        hours: All hours that have a folder, in order.
        used: The hours of the published changes, in order.

    Raises:
        PermanentStoreError: An hour is missing; the message names it.
    """
    between = [hour for hour in hours if used and used[0] <= hour <= used[-1]]
    for before, after in pairwise(between):
        expected = (datetime.strptime(before, _HOUR) + timedelta(hours=1)).strftime(_HOUR)
        if after != expected:
            raise PermanentStoreError(
                f"the hour {expected} is missing in {root}, but {after} is there; fetch it, "
                "or make an empty folder for it if nothing changed in that hour"
            )
