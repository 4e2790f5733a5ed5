"""Sets of triples by hash, and the net effect of changes; terms stay in Arrow columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgsync.graph.hashing import Hashes, mix
from kgsync.graph.port import TripleBatch

__all__ = ["Changes", "NetChange", "TripleSet", "last_of_each"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Keys:
    """Two hashes per triple; collisions of both do not happen in practice."""

    first: Hashes
    second: Hashes

    @classmethod
    def of(cls, batch: TripleBatch) -> _Keys:
        """The keys of a batch's triples, valid only in this process."""
        first = second = np.zeros(batch.num_rows, np.uint64)
        for column in batch.columns:
            texts = column.dictionary.to_pylist()
            hashes = np.fromiter(map(hash, texts), np.int64, len(texts)).view(np.uint64)
            terms = hashes[np.asarray(column.indices)]
            first, second = mix(first ^ terms), mix(second + mix(terms))
        return cls(first, second)

    @classmethod
    def joined(cls, parts: list[_Keys]) -> _Keys:
        none = np.empty(0, np.uint64)
        return cls(
            np.concatenate([none, *(part.first for part in parts)]),
            np.concatenate([none, *(part.second for part in parts)]),
        )

    def take(self, rows: Any) -> _Keys:
        return _Keys(self.first[rows], self.second[rows])

    def order(self) -> NDArray[np.intp]:
        """Rows in the order of their keys, equal ones as they came."""
        return np.lexsort((self.second, self.first))

    def repeats(self) -> Mask:
        """Of sorted keys, which are the same as the one before."""
        same = (self.first[1:] == self.first[:-1]) & (self.second[1:] == self.second[:-1])
        return np.append(np.zeros(min(1, len(self.first)), bool), same)

    def contain(self, others: _Keys) -> Mask:
        """Which of the others are among these, which are sorted."""
        if not len(self.first):
            return np.zeros(len(others.first), bool)
        at = np.searchsorted(self.first, others.first)
        at[at == len(self.first)] = 0
        found: Mask = (self.first[at] == others.first) & (self.second[at] == others.second)
        return found


class TripleSet:
    """The triples seen so far, in sorted runs, each at least twice as long as the next."""

    def __init__(self) -> None:
        """Start empty."""
        self._runs: list[_Keys] = []

    def new(self, batch: TripleBatch) -> TripleBatch:
        """The triples of a batch that were not seen before, each once."""
        keys = _Keys.of(batch)
        order = keys.order()
        order = order[~keys.take(order).repeats()]
        met = np.zeros(len(order), bool)
        for run in self._runs:
            met |= run.contain(keys.take(order))
        order = order[~met]
        run = keys.take(order)
        while self._runs and len(self._runs[-1].first) < 2 * len(run.first):
            run = _Keys.joined([self._runs.pop(), run])
            run = run.take(run.order())
        self._runs.append(run)
        return batch if len(order) == batch.num_rows else batch.take(pa.array(np.sort(order)))


@dataclass(frozen=True)
class NetChange:
    """The net effect of changes: for each triple, only the last change counts."""

    removed: list[TripleBatch]
    added: list[TripleBatch]
    cleared: Any
    """An Arrow array of subjects whose earlier triples are all removed."""
    _touched: _Keys

    def untouched(self, batch: TripleBatch) -> TripleBatch:
        """The triples of a batch that the changes do not affect."""
        stays = ~self._touched.contain(_Keys.of(batch))
        if len(self.cleared):
            subjects = batch.column(0)
            gone = np.asarray(pc.is_in(subjects.dictionary, value_set=self.cleared))
            stays &= ~gone[np.asarray(subjects.indices)]
        return batch if stays.all() else batch.filter(pa.array(stays))


def last_of_each(
    batch: TripleBatch, add: Mask, order: NDArray[np.int64]
) -> tuple[TripleBatch, Mask, NDArray[np.int64]]:
    """For rows in order, keep the last row of each triple.

    A small compressed file can repeat a triple millions of times: the others need not be kept.
    """
    keys = _Keys.of(batch)
    rows = keys.order()
    rows = np.sort(rows[~np.append(keys.take(rows).repeats()[1:], False)[: len(rows)]])
    if len(rows) == batch.num_rows:
        return batch, add, order
    return batch.take(pa.array(rows)), add[rows], order[rows]


class Changes:
    """Collects changes in the order in which they are to be made."""

    def __init__(self) -> None:
        """Start empty."""
        self._batches: list[TripleBatch] = []
        self._keys: list[_Keys] = []
        self._add: list[Mask] = []
        self._when: list[NDArray[np.int64]] = []
        self._cleared: list[tuple[Any, int]] = []
        self._now = self._last = 0

    def make(self, batch: TripleBatch, *, add: bool) -> None:
        """Add or remove triples."""
        rows = batch.num_rows
        self.make_each(*last_of_each(batch, np.full(rows, add), np.zeros(rows, np.int64)))
        self.go_on()

    def make_each(self, batch: TripleBatch, add: Mask, order: NDArray[np.int64]) -> None:
        """Add or remove each of some triples, in an order among all those until `go_on`."""
        self._batches.append(batch)
        self._keys.append(_Keys.of(batch))
        self._add.append(add)
        self._when.append(self._now + order)
        self._last = max(self._last, int(self._when[-1].max(initial=0)))

    def go_on(self) -> None:
        """Start a new group: what follows happens after everything so far."""
        self._now = self._last + 1

    def clear(self, subjects: Any) -> None:
        """Remove all triples of some subjects."""
        self._cleared.append((subjects, self._now))
        self._last = self._now
        self.go_on()

    def net(self) -> NetChange:
        """The net effect of the changes."""
        cleared = pa.array([], pa.string())
        if self._cleared:
            cleared = pa.concat_arrays([subjects for subjects, _ in self._cleared])
        keys = _Keys.joined(self._keys)
        if not self._batches:
            return NetChange([], [], cleared, keys)
        table = pa.Table.from_batches(self._batches).unify_dictionaries().combine_chunks()
        when, add = np.concatenate(self._when), np.concatenate(self._add)
        if self._cleared:
            add &= when > self._last_clear(cleared, table)
        in_time = np.argsort(when, kind="stable")
        order = in_time[keys.take(in_time).order()]
        last = order[~np.append(keys.take(order).repeats()[1:], False)]
        removed, added = (
            table.take(pa.array(np.sort(last[add[last] == wanted]))).to_batches()
            for wanted in (False, True)
        )
        return NetChange(removed, added, pc.unique(cleared), keys.take(last))

    def _last_clear(self, cleared: Any, table: Any) -> NDArray[np.int64]:
        """For each row of a table, when its subject was last cleared; -1 for never."""
        times = np.repeat(
            [when for _, when in self._cleared], [len(some) for some, _ in self._cleared]
        )
        (subjects,) = table.column(0).chunks
        # The first place of a subject in the reversed list is its last in time.
        found = pc.index_in(subjects.dictionary, value_set=cleared[::-1])
        at = np.asarray(pc.fill_null(found, len(times)))
        by_term = np.append(times[::-1], -1)[at]
        last: NDArray[np.int64] = by_term[np.asarray(subjects.indices)]
        return last
