"""Append-only ids of IRIs. Ids are permanent; new terms are sorted, then numbered."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgsync.graph.hashing import keyed_hashes

__all__ = ["Ids", "TermIndex", "TermTable"]

Ids = NDArray[np.int32]

_FEW = 1000
"""How many times as many IRIs a table has as are looked up, for a search through sorted hashes."""
_SCANS = 16
"""Searches through all IRIs that take about as long as sorting them."""
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_BLOCK = 1 << 16
"""IRIs that are Python objects at a time."""


@dataclass(frozen=True)
class TermTable:
    """The IRIs of one kind (entities or relations); the position of an IRI is its id."""

    iris: Any = field(default_factory=lambda: pa.array([], pa.string()))
    """A pyarrow string array."""
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    """Keyed 64-bit hash of each IRI, from which the split is computed."""
    key: bytes | None = None
    """Key of the hashes, if it is known."""

    def __len__(self) -> int:
        return len(self.iris)

    def ids(self, iris: Any) -> Ids:
        """Ids of an Arrow array of IRIs; -1 where an IRI is unknown."""
        if len(iris) >= len(self.iris):
            return _found(pc.index_in(iris, value_set=self.iris))
        if self.key is not None and len(iris) * _FEW <= len(self.iris):
            return self._searched(iris, self.key)
        # Hashing the smaller side is twenty times faster for a few terms among millions.
        wanted = iris.dictionary_encode()
        at = _found(pc.index_in(self.iris, value_set=wanted.dictionary))
        known = np.flatnonzero(at >= 0).astype(np.int32)
        ids = np.full(len(wanted.dictionary), -1, np.int32)
        ids[at[known]] = known
        found: Ids = ids[np.asarray(wanted.indices)]
        return found

    def _searched(self, iris: Any, key: bytes) -> Ids:
        """Ids of a few IRIs: their hashes are searched among the sorted ones, then compared."""
        order = self._by_hash
        wanted = keyed_hashes(iris, key)
        first, last = (np.searchsorted(self.hashes, wanted, side, sorter=order) for side in _SIDES)
        ids = np.full(len(iris), -1, np.int32)
        for at in np.flatnonzero(last > first).tolist():
            for id_ in order[first[at] : last[at]].tolist():
                if self.iris[id_].equals(iris[at]):
                    ids[at] = id_
        return ids

    @cached_property
    def _by_hash(self) -> Ids:
        """The ids in the order of their hashes."""
        return np.argsort(self.hashes, kind="stable").astype(np.int32)

    def id(self, iri: str) -> int | None:
        """Id of one IRI, or None; fast also for many, one after the other."""
        return self._search.find(iri)

    @cached_property
    def _search(self) -> _Search:
        return _Search(self.iris)

    def names(self, ids: Ids) -> Any:
        """IRIs of ids, as an Arrow string array."""
        if len(ids) == len(self.iris) and np.array_equal(ids, np.arange(len(ids))):
            return self.iris
        return self.iris.take(pa.array(ids))

    def name(self, id_: int) -> str:
        """IRI of one id."""
        return str(self.iris[int(id_)].as_py())

    def extended(self, iris: Any, key: bytes) -> TermTable:
        """This table with the unknown ones of `iris` appended in code-point order."""
        unknown = iris.filter(pa.array(self.ids(iris) < 0))
        if not len(unknown):
            return self
        unknown = unknown.take(pc.sort_indices(unknown))
        again = np.asarray(pc.equal(unknown[1:], unknown[:-1]))
        if again.any():
            unknown = unknown.filter(pa.array(np.append(True, ~again)))
        new = keyed_hashes(unknown, key)
        hashes = np.concatenate([self.hashes, new])
        table = TermTable(pa.concat_arrays([self.iris, unknown]), hashes, key)
        if "_by_hash" in vars(self) and len(new) * _FEW <= len(self):
            order = np.argsort(new, kind="stable")
            places = np.searchsorted(self.hashes, new[order], "right", sorter=self._by_hash)
            # What was sorted already is not sorted again.
            vars(table)["_by_hash"] = np.insert(self._by_hash, places, len(self) + order)
        return table

    def similar(self, iri: str, among: Ids, count: int = 3) -> list[str]:
        """The IRIs nearest in spelling, for error messages."""
        local = _local_name(iri).lower()
        if not local:
            return []
        names = self.names(among)
        close = names
        if len(names) > 5000:  # comparing all would take seconds
            close = names.filter(pc.match_substring(pc.utf8_lower(names), local[:3]))[:20_000]
        by_local = {_local_name(name).lower(): name for name in close.to_pylist()}
        return [by_local[m] for m in difflib.get_close_matches(local, by_local, count, 0.6)]


class _Search:
    """Finds IRIs one at a time, without a Python object per row: there may be millions."""

    def __init__(self, iris: Any) -> None:
        self._iris = iris
        self._scans = 0

    def find(self, iri: str) -> int | None:
        if self._scans < _SCANS:
            self._scans += 1
            return self._scanned(iri)
        hashes, rows = self._by_hash
        wanted = hash(iri)
        place = bisect_left(hashes, wanted)
        while place < len(hashes) and hashes[place] == wanted:
            if self._iris[rows[place]].as_py() == iri:
                return rows[place]
            place += 1
        return None

    def _scanned(self, iri: str) -> int | None:
        try:
            wanted = pa.scalar(iri, pa.string())
        except UnicodeEncodeError:
            return None
        position = int(pc.index(self._iris, wanted).as_py())
        return None if position < 0 else position

    @cached_property
    def _by_hash(self) -> tuple[memoryview, memoryview]:
        """Python's hashes of all IRIs, sorted, and whose they are."""
        blocks = (self._iris[i : i + _BLOCK] for i in range(0, len(self._iris), _BLOCK))
        texts = (text for block in blocks for text in block.to_pylist())
        hashes = np.fromiter(map(hash, texts), np.int64, len(self._iris))
        rows = np.argsort(hashes, kind="stable")
        return hashes[rows].data, rows.data


@dataclass(frozen=True)
class TermIndex:
    """Ids of entities and of relations; an IRI used as both has one of each."""

    key: bytes = b""
    """Key of the term hashes."""
    entities: TermTable = field(default_factory=TermTable)
    relations: TermTable = field(default_factory=TermTable)

    def keyed(self, key: bytes) -> TermIndex:
        """The same ids under another key."""
        if key == self.key:
            return self
        tables = (
            TermTable(table.iris, keyed_hashes(table.iris, key), key)
            for table in (self.entities, self.relations)
        )
        return TermIndex(key, *tables)

    def extended(self, entities: Any, relations: Any) -> TermIndex:
        """This index with unknown terms appended."""
        return TermIndex(
            self.key,
            self.entities.extended(entities, self.key),
            self.relations.extended(relations, self.key),
        )

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """Number of entity ids and of relation ids ever given."""
        return len(self.entities), len(self.relations)


def _found(positions: Any) -> Ids:
    return np.asarray(pc.fill_null(positions, -1), dtype=np.int32)


def _local_name(iri: str) -> str:
    return iri.rstrip("/#").replace("#", "/").rpartition("/")[2]
