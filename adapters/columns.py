"""Convert store results to triple batches: from tab-separated bytes, or from terms as text."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor, Future
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv

from kgsync.errors import TransientStoreError
from kgsync.graph.port import Receive, TripleBatch

__all__ = ["TsvSink", "batch_of", "push_rows"]

_BLOCK_BYTES = 1 << 20
_BLOCK_ROWS = 10_000
_ENCODED = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema([("s", _ENCODED), ("p", _ENCODED), ("o", _ENCODED)])
_PARSE = pa.csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False)
_CONVERT = pa.csv.ConvertOptions(
    column_types=dict.fromkeys([*_SCHEMA.names, "mark"], _ENCODED),
    strings_can_be_null=False,
)


class TsvSink:
    """A file-like object that turns SPARQL TSV results into batches as they are written to it.

    A store may hold IRIs with raw tabs and line breaks. So every row ends with a random mark
    that no term can contain. A line without it is a fragment, and the response is rejected.
    """

    def __init__(self, receive: Receive, mark: str, pool: Executor | None = None) -> None:
        """Create a sink that waits for bytes.

        Args:
            receive: Takes the batches, one at a time and in order.
            mark: The mark at the end of every row.
            pool: Runs `receive` while the store continues to write its response.
        """
        self._receive = receive
        self._pool = pool
        self._running: Future[None] | None = None
        self._mark = f'"{mark}"'
        self._buffer = bytearray()
        self._head_seen = False

    def write(self, data: bytes) -> int:
        """Take bytes of the response; complete lines are passed on when a block is full."""
        self._buffer += data
        if len(self._buffer) >= _BLOCK_BYTES:
            self._push_lines()
        return len(data)

    def flush(self) -> None:
        """Nothing to do: blocks are pushed by size."""

    def finish(self) -> None:
        """Push the rest at the end of the response."""
        if self._buffer and not self._buffer.endswith(b"\n"):
            raise TransientStoreError("the response ends in the middle of a line")
        self._push_lines()
        self._wait()

    def _push_lines(self) -> None:
        end = self._buffer.rfind(b"\n") + 1
        start = 0 if self._head_seen else self._buffer.find(b"\n") + 1
        self._head_seen = self._head_seen or start > 0
        if end > start:
            self._push(bytes(self._buffer[start:end]))
        del self._buffer[:end]

    def _push(self, lines: bytes) -> None:
        self._wait()
        if self._pool is None:
            self._receive(self._parse(lines))
        else:
            self._running = self._pool.submit(lambda: self._receive(self._parse(lines)))

    def _wait(self) -> None:
        running, self._running = self._running, None
        try:
            if running is not None:
                running.result()
        finally:
            # An error and the frame that raised it would keep each other, and the store, alive.
            del running

    def _parse(self, lines: bytes) -> TripleBatch:
        read = pa.csv.ReadOptions(
            column_names=[*_SCHEMA.names, "mark"], use_threads=False, block_size=len(lines) + 1
        )
        try:
            table = pa.csv.read_csv(pa.BufferReader(lines), read, _PARSE, _CONVERT)
        except pa.ArrowInvalid as error:
            raise TransientStoreError(f"the response has a malformed row: {error}") from error
        (batch,) = table.combine_chunks().to_batches()
        if batch.column(3).dictionary.to_pylist() != [self._mark]:
            raise TransientStoreError("the response has a row without its end mark")
        return batch.select(_SCHEMA.names)


def push_rows(rows: Iterable[tuple[str, str, str]], receive: Receive) -> None:
    """Push triples given as N-Triples text, in blocks."""
    rows = iter(rows)
    while block := list(islice(rows, _BLOCK_ROWS)):
        receive(batch_of(*(pa.array(column, pa.string()) for column in zip(*block, strict=True))))


def batch_of(subjects: Any, predicates: Any, objects: Any) -> TripleBatch:
    """The batch of three Arrow arrays of N-Triples text."""
    columns = [column.dictionary_encode() for column in (subjects, predicates, objects)]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
