"""Readers that pass on a real store's answers, less faithfully than they should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa

from kgsync.graph.port import (
    DifferenceReader,
    GraphReader,
    Receive,
    StoreCapabilities,
    Term,
    TripleBatch,
)
from kgsync.graph.port import TripleSource as Source

Disturb = Callable[[TripleBatch], TripleBatch]


class Disturbed:
    """A real reader whose scans and differences pass through a disturbance."""

    def __init__(
        self,
        reader: GraphReader,
        *,
        scan: Disturb | None = None,
        difference: Disturb | None = None,
        before_scan: Callable[[], object] | None = None,
        after_scan: Callable[[], object] | None = None,
    ) -> None:
        self.reader = reader
        self.scans: list[bool] = []
        """Whether each scan so far was a careful one."""
        self._scan = scan or _unchanged
        self._difference = difference or _unchanged
        self._before_scan, self._after_scan = before_scan, after_scan

    @property
    def label(self) -> str:
        return self.reader.label

    @property
    def capabilities(self) -> StoreCapabilities:
        return replace(self.reader.capabilities, complete_answers=False)

    def graphs(self) -> list[str]:
        return self.reader.graphs()

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        return self.reader.select(query)

    def count(self, source: Source) -> int:
        return self.reader.count(source)

    def scan(self, source: Source, receive: Receive, *, careful: bool = False) -> None:
        self.scans.append(careful)
        if self._before_scan:
            self._before_scan()
        self.reader.scan(source, lambda batch: receive(self._scan(batch)), careful=careful)
        if self._after_scan:
            self._after_scan()

    def count_difference(self, source: Source, base: Source) -> int:
        return cast("DifferenceReader", self.reader).count_difference(source, base)

    def scan_difference(self, source: Source, base: Source, receive: Receive) -> None:
        reader = cast("DifferenceReader", self.reader)
        reader.scan_difference(source, base, lambda batch: receive(self._difference(batch)))

    def __getattr__(self, name: str) -> Any:
        """Whatever else the port asks for, the real reader answers."""
        return getattr(self.reader, name)

    def close(self) -> None:
        self.reader.close()


def _unchanged(batch: TripleBatch) -> TripleBatch:
    return batch


def drop_one(batch: TripleBatch) -> TripleBatch:
    """The last row is lost."""
    return batch.slice(0, batch.num_rows - 1)


def repeat_one(batch: TripleBatch) -> TripleBatch:
    """The first row comes twice."""
    return _rows(batch, [0, *range(batch.num_rows)])


def repeat_one_for_another(batch: TripleBatch) -> TripleBatch:
    """The first row comes twice and the last one is lost, as with pages of an unstable order."""
    return _rows(batch, [0, *range(batch.num_rows - 1)])


def _rows(batch: TripleBatch, positions: list[int]) -> TripleBatch:
    table = pa.Table.from_batches([batch]).take(pa.array(positions))
    (taken,) = table.combine_chunks().to_batches()
    return taken
