"""A set of N-Triples lines that grows and shrinks, kept in columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgsync.common.rdf_terms import EDGE, ESCAPED_IRI, STATEMENT, unescaped
from kgsync.errors import ConfigError
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import Ids, TermIndex, TermTable
from kgsync.snapshots.files import open_bytes

__all__ = ["Statements", "read_lines"]


class Statements:
    """The lines of one version after the other; those that are edges have ids as well.

    A line keeps its row permanently, so that one that leaves and returns is parsed once.
    """

    def __init__(self) -> None:
        """Begin with no lines."""
        self.terms = TermIndex()
        self._lines = pa.array([], pa.string())
        self._present = np.empty(0, bool)
        self._columns: tuple[Ids, ...] = (np.empty(0, np.int32),) * 3

    def add(self, lines: Any) -> int:
        """Add an Arrow array of lines; how many were there already."""
        self._meet(lines)
        return self._set(lines, present=True)

    def remove(self, lines: Any) -> int:
        """Remove an Arrow array of lines; how many were not there."""
        return self._set(lines, present=False)

    def lines(self) -> Any:
        """The lines that are there, in the order of their first appearance."""
        return self._lines.filter(pa.array(self._present))

    def edges(self) -> Snapshot:
        """Those between three valid IRIs, under the ids of `terms`."""
        edge = self._present & (self._columns[0] >= 0)
        return Snapshot.of(*(column[edge] for column in self._columns))

    def _set(self, lines: Any, *, present: bool) -> int:
        rows = TermTable(self._lines).ids(lines)
        rows = np.unique(rows[rows >= 0])
        changed = rows[self._present[rows] != present]
        self._present[changed] = present
        return len(lines) - len(changed)

    def _meet(self, lines: Any) -> None:
        new = pc.unique(lines.filter(pa.array(TermTable(self._lines).ids(lines) < 0)))
        parts = pc.extract_regex(_unescaped(new), EDGE)
        edge = np.asarray(parts.is_valid())
        heads, predicates, tails = (parts.filter(pa.array(edge)).field(name) for name in "spo")
        self.terms = self.terms.extended(pa.concat_arrays([heads, tails]), predicates)
        entities, relations = self.terms.entities, self.terms.relations
        found = entities.ids(heads), relations.ids(predicates), entities.ids(tails)
        self._columns = tuple(
            np.concatenate([column, _spread(ids, edge)])
            for column, ids in zip(self._columns, found, strict=True)
        )
        self._lines = pa.concat_arrays([self._lines, new])
        self._present = np.append(self._present, np.zeros(len(new), bool))


def read_lines(path: Path) -> Any:
    """The statements of an N-Triples file as an Arrow array, without comments and empty lines.

    IRIs need not be valid: real data have spaces in them, and stores take them.

    Raises:
        ConfigError: The file cannot be read, or a line is not a statement.
    """
    with open_bytes(path) as opened:
        data = opened.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error}") from error
    lines = pc.utf8_trim_whitespace(pc.split_pattern(pa.array([text]), "\n").flatten())
    empty = pc.match_substring_regex(lines, r"^(#|$)")
    well_formed = pc.or_(pc.match_substring_regex(lines, STATEMENT), empty)
    wrong = pc.index(well_formed, False).as_py()
    if wrong >= 0:
        raise ConfigError(f"{path}, line {wrong + 1}: not an N-Triples statement")
    return lines.filter(pc.invert(empty))


def _unescaped(lines: Any) -> Any:
    """Lines with the escapes in their IRIs decoded; literals are not edges anyway."""
    escaped = pc.match_substring_regex(lines, ESCAPED_IRI)
    texts = [unescaped(line) for line in lines.filter(escaped).to_pylist()]
    return pc.replace_with_mask(lines, escaped, pa.array(texts, pa.string()))


def _spread(ids: Ids, edge: Any) -> Ids:
    spread = np.full(len(edge), -1, np.int32)
    spread[edge] = ids
    return spread
