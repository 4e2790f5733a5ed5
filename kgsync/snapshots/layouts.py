"""The expected rows of a text file, and which line does not match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kgsync.errors import ConfigError
from kgsync.snapshots.files import open_bytes

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """The fields of a row."""

    columns: tuple[str, ...]
    """All fields in their order; with a header, those to read, by their names in it."""
    delimiter: str = "\t"
    header: bool = False
    """Whether the first line names the fields."""
    times: str | None = None
    """The column of moments; all others are names."""
    dates: bool = False
    """Whether the moments are ISO dates, else they are whole numbers."""

    def problem(self, path: Path, reason: str) -> ConfigError:
        """What is wrong with a file that could not be read, and in which line.

        Arrow counts rows, not lines, and not always those. So the file is read again, slowly.
        """
        wanted, fields, seen = list(range(len(self.columns))), len(self.columns), False
        with open_bytes(path) as lines:
            for number, line in enumerate(lines, 1):
                row = line.rstrip(b"\r\n").split(self.delimiter.encode())
                if row == [b""]:
                    continue
                if self.header and not seen:
                    head = [field.decode("utf-8", "replace") for field in row]
                    missing = [name for name in self.columns if name not in head]
                    if missing:
                        return ConfigError(f"{path}, line {number}: no column {missing[0]!r}")
                    wanted, fields = [head.index(name) for name in self.columns], len(head)
                elif problem := self._problem_of(row, fields, wanted):
                    return ConfigError(f"{path}, line {number}: {problem}")
                seen = True
        return ConfigError(f"cannot read {path}: {reason}" if seen else f"{path} is empty")

    def _problem_of(self, row: list[bytes], fields: int, wanted: list[int]) -> str | None:
        if len(row) != fields:
            return f"expected {fields} fields, found {len(row)}"
        for column, position in zip(self.columns, wanted, strict=True):
            try:
                text = row[position].decode()
            except UnicodeDecodeError:
                return f"the {column} is not UTF-8 text"
            if not text:
                return f"the {column} is empty"
            if column == self.times and not self._is_moment(text):
                kind = "an ISO date" if self.dates else "a 64-bit whole number"
                return f"the {column} must be {kind}, not {text!r}"
        return None

    def _is_moment(self, text: str) -> bool:
        if not self.dates:
            whole = re.fullmatch(r"-?\d{1,19}", text, re.ASCII) is not None
            return whole and -(2**63) <= int(text) < 2**63
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return False
        return True
