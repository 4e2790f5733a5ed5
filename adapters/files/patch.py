"""RDF Patch: a header that chains files, then transactions of added and deleted triples.

See https://jena.apache.org/documentation/rdf-patch. Prefix rows are ignored. A row
that changes something must be in a transaction, so that an incomplete file is detected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from kgsync.adapters.columns import batch_of
from kgsync.adapters.files.parsing import Parsed, line_blocks, opened_file, parse_lines
from kgsync.adapters.files.sets import Changes, last_of_each
from kgsync.errors import PermanentStoreError, TransientStoreError
from kgsync.graph.files.rdf_bytes import read_lines_of
from kgsync.graph.port import TripleBatch

__all__ = ["PatchHeader", "check_chain", "read_header", "read_patch"]

_ROW = r"^[ \t]*[AD][ \t]+"
_HEADER = re.compile(r"H\s+(\w+)\s+(\S.*?)\s*\.")
_OTHER = re.compile(r"(H|TX|TC|TA|PA|PD)(?:\s.*)?\.|#.*|", re.DOTALL)


@dataclass(frozen=True)
class PatchHeader:
    """The header of a patch: its id and the id of the previous patch."""

    path: Path
    id: str | None = None
    previous: str | None = None
    line: int = 1
    """The line that names the previous patch."""


def read_header(path: Path) -> PatchHeader:
    """The header of a patch; the rest is not read."""
    found: dict[str, str] = {}
    where = 1
    with opened_file(path) as file:
        for number, data in enumerate(read_lines_of(file), 1):
            line = data.decode("utf-8", "replace").strip()
            match = _HEADER.fullmatch(line)
            if match:
                found[match[1]] = match[2].strip('<>"').removeprefix("urn:")
                where = number if match[1] == "prev" else where
            elif line and not line.startswith(("#", "PA", "PD")):
                break
    return PatchHeader(path, found.get("id"), found.get("prev"), where)


def check_chain(headers: list[PatchHeader]) -> None:
    """Check that every patch follows the one before it.

    Raises:
        PermanentStoreError: A patch does not; the message names it.
    """
    for before, header in pairwise(headers):
        if header.previous is None and before.id is None:
            continue
        if header.previous != before.id:
            raise PermanentStoreError(
                f"{header.path}, line {header.line}: the chain is broken: its previous patch is "
                f"{header.previous or 'nothing'}, but {before.path.name} before it has "
                f"{f'the id {before.id}' if before.id else 'no id'}; is a patch missing?"
            )


def read_patch(path: Path, changes: Changes, check: Callable[[Path, Parsed], TripleBatch]) -> None:
    """Collect the changes of a patch's committed transactions.

    Args:
        path: The file.
        changes: Receives the changes, in order.
        check: Checks which graph they are about.

    Raises:
        PermanentStoreError: A row is wrong; the message names its line.
        TransientStoreError: The last transaction is not finished.
    """
    reader = _Reader(path, changes, check)
    with opened_file(path) as file:
        for first, lines in line_blocks(path, file):
            reader.read(first, lines)
    reader.finish()


class _Reader:
    """Reads one patch block by block."""

    def __init__(
        self, path: Path, changes: Changes, check: Callable[[Path, Parsed], TripleBatch]
    ) -> None:
        self._path, self._changes, self._check = path, changes, check
        self._began: int | None = None
        self._rows: list[tuple[TripleBatch, Any, Any]] = []

    def read(self, first: int, lines: Any) -> None:
        is_row = np.asarray(pc.match_substring_regex(lines, _ROW))
        done = 0
        for at in [*np.flatnonzero(~is_row).tolist(), len(lines)]:
            if at > done:
                self._take(lines[done:at], first + done)
            if at < len(lines):
                self._control(lines[at].as_py().strip(), first + at)
            done = at + 1

    def finish(self) -> None:
        if self._began is not None:
            raise TransientStoreError(
                f"{self._path}, line {self._began}: the transaction is not finished: the "
                "file may still be being written; try again when it is complete"
            )

    def _take(self, rows: Any, first: int) -> None:
        if self._began is None:
            raise self._wrong(first, "a change outside a transaction")
        numbers = np.arange(first, first + len(rows))
        adds = np.asarray(pc.match_substring_regex(rows, r"^[ \t]*A"))
        statements = pc.replace_substring_regex(rows, _ROW, "")
        for parsed in parse_lines(self._path, statements, numbers, ox.RdfFormat.N_QUADS):
            batch = _with_blank_nodes(self._check(self._path, parsed))
            assert parsed.lines is not None
            order = parsed.lines
            self._rows.append(last_of_each(batch, adds[order - first], order))

    def _control(self, line: str, number: int) -> None:
        match = _OTHER.fullmatch(line)
        if match is None:
            raise self._wrong(number, f"not a row of an RDF Patch: {line[:60]!r}")
        if match[1] == "TX":
            if self._began is not None:
                raise self._wrong(number, f"the transaction of line {self._began} is still open")
            self._began = number
        elif match[1] in ("TC", "TA"):
            if self._began is None:
                raise self._wrong(number, f"{match[1]} without a transaction")
            if match[1] == "TC":
                for batch, adds, order in self._rows:
                    self._changes.make_each(batch, adds, order)
                self._changes.go_on()
            self._rows, self._began = [], None

    def _wrong(self, line: int, what: str) -> PermanentStoreError:
        return PermanentStoreError(f"{self._path}, line {line}: {what}")


def _with_blank_nodes(batch: TripleBatch) -> TripleBatch:
    """A patch may write a blank node as `<_:label>`."""

    def spelled(column: Any) -> Any:
        terms = pc.replace_substring_regex(column.dictionary, r"^<(_:[^<>]*)>$", r"\1")
        return pa.DictionaryArray.from_arrays(column.indices, terms).cast(pa.string())

    return batch_of(*map(spelled, batch.columns))
