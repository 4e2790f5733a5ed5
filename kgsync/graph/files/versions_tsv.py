"""`versions.tsv`: what the versions of a history of files are called, and when they were issued."""

from __future__ import annotations

import csv
import datetime
import re
from pathlib import Path

from kgsync.errors import ConfigError

__all__ = ["issued", "read_version_table"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def read_version_table(folder: Path) -> dict[int, dict[str, str]]:
    """Rows of a folder's `versions.tsv` by the number in their column `idx`; none without it.

    Raises:
        ConfigError: A row has no number.
    """
    path = folder / "versions.tsv"
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        try:
            return {int(row["idx"]): row for row in rows}
        except (KeyError, TypeError, ValueError):
            where = f"{path}, line {rows.line_num}"
            raise ConfigError(f"{where}: expected a whole number in column `idx`") from None


def issued(number: int, row: dict[str, str]) -> str | None:
    """The column `date` of a row; without one the first date in its label.

    Raises:
        ConfigError: There is no such day.
    """
    date = _DATE.search(row.get("date") or row.get("label") or "")
    if date is None:
        return None
    try:
        datetime.date.fromisoformat(date[0])
    except ValueError:
        raise ConfigError(
            f"versions.tsv gives version {number} the date {date[0]}, which does not exist"
        ) from None
    return date[0]
