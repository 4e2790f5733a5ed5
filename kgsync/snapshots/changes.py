"""A history as files: a base, then what each version added and removed, in N-Triples.

    base.nt.gz
    changes/0001.added.nt.gz, changes/0001.removed.nt.gz, ...
    versions.tsv            columns `idx`, `label` and `date`

Files may be compressed. Either file of a change may be missing, and so may `versions.tsv`; without
a column `date` the first date in the label counts. Names follow the rules of
`kgsync.graph.files.rdf_files`, but only N-Triples that are added or removed are read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from kgsync.errors import ConfigError
from kgsync.graph.files.rdf_files import CHANGE, not_understood, strange_files
from kgsync.graph.files.versions_tsv import issued, read_version_table
from kgsync.snapshots.files import find_file
from kgsync.snapshots.statements import Statements, read_lines
from kgsync.snapshots.version import PIECE_ROWS, BuiltVersion, joined

__all__ = ["ChangeFiles", "StatedVersion"]


@dataclass(frozen=True, eq=False)
class StatedVersion(BuiltVersion):
    """A version with all its statements: edges, literals, and IRIs that are not valid."""

    lines: Any = None
    """An Arrow array of N-Triples statements."""

    @property
    def triples(self) -> int:
        """How many statements the version has."""
        return len(self.lines)

    def ntriples(self) -> Iterator[str]:
        """The statements in pieces."""
        for start in range(0, len(self.lines), PIECE_ROWS):
            lines = self.lines[start : start + PIECE_ROWS]
            yield joined(pc.binary_join_element_wise(lines, "\n", ""))


@dataclass(frozen=True)
class ChangeFiles:
    """The files of a history; finding them reads none of them."""

    base: Path
    changes: tuple[dict[str, Path], ...]
    """For each version after the base the paths of `added` and `removed`."""
    described: dict[int, dict[str, str]]
    """Rows of `versions.tsv` by number."""

    @classmethod
    def find(cls, folder: Path) -> ChangeFiles:
        """The files in a folder.

        Raises:
            ConfigError: The base is missing, or a change between two others, or a file may be a
                part of a change and cannot be read.
        """
        found = _changes(folder)
        missing = sorted(set(range(1, max(found, default=0) + 1)) - set(found))
        if missing:
            raise ConfigError(f"change {missing[0]:04} is missing in {folder / 'changes'}")
        changes = tuple(found[number] for number in sorted(found))
        return cls(find_file(folder, "base.nt"), changes, read_version_table(folder))

    def __len__(self) -> int:
        return 1 + len(self.changes)

    def versions(self) -> Iterator[StatedVersion]:
        """Every version, complete.

        Raises:
            ConfigError: A file is malformed.
        """
        statements = Statements()
        statements.add(read_lines(self.base))
        yield self._version(0, statements, 0)
        for number, change in enumerate(self.changes, 1):
            idle = 0
            if "removed" in change:
                idle += statements.remove(read_lines(change["removed"]))
            if "added" in change:
                idle += statements.add(read_lines(change["added"]))
            yield self._version(number, statements, idle)

    def _version(self, number: int, statements: Statements, idle: int) -> StatedVersion:
        row = self.described.get(number, {})
        label = row.get("label") or f"version {number}"
        return StatedVersion(
            name=str(number),
            title=label,
            edges=statements.edges(),
            terms=statements.terms,
            issued=issued(number, row),
            lines=statements.lines(),
            without_effect=idle,
        )


def _changes(folder: Path) -> dict[int, dict[str, Path]]:
    """The paths of every change by what they do."""
    found: dict[int, dict[str, Path]] = {}
    paths = sorted((folder / "changes").glob("*"))
    named = {path: match for path in paths if (match := CHANGE.fullmatch(path.name))}
    for path in strange_files(paths, named, numbered=True):
        raise ConfigError(not_understood(path))
    for path, match in named.items():
        parts, kind = found.setdefault(int(match[1]), {}), match[2].lower()
        if kind not in ("added", "removed") or match[3].lower() != ".nt":
            raise ConfigError(
                f"{path}: only added and removed N-Triples files are supported here; "
                f"`kgsync init {folder}` can sync from such a folder directly"
            )
        if kind in parts:
            raise ConfigError(f"{parts[kind]} and {path.name} are two files for the same change")
        parts[kind] = path
    return found
