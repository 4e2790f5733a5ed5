"""Convert streamed N-Triples to triple batches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgsync.common.rdf_terms import OBJECT, PREDICATE, SUBJECT, unescaped
from kgsync.errors import TransientStoreError
from kgsync.graph.port import Receive, TripleBatch

__all__ = ["NTriplesSink"]

_BLOCK_BYTES = 1 << 20
_LONGEST_LINE = 1 << 28
_LAST = re.compile(rb"(?:[\"> \t]\.|(?:^|\n)#[^\n]*)[ \t\r]*\Z")
"""A last line without an end: a blank node's name may have a dot inside, so it may be cut there."""


class NTriplesSink:
    """Takes the bytes of a response and passes on its triples, block by block."""

    def __init__(self, receive: Receive) -> None:
        """Wait for bytes; `receive` takes the batches."""
        self._receive = receive
        self._buffer = bytearray()

    def write(self, data: bytes) -> None:
        """Take bytes of the response; complete lines are passed on when a block is full."""
        searched = len(self._buffer) if len(self._buffer) >= _BLOCK_BYTES else 0
        self._buffer += data
        if len(self._buffer) >= _BLOCK_BYTES:
            self._push_lines(searched)
        if len(self._buffer) > _LONGEST_LINE:
            raise TransientStoreError(
                f"the response has a line longer than {_LONGEST_LINE:,} bytes"
            )

    def finish(self) -> None:
        """Push the rest at the end of the response."""
        if self._buffer and not self._buffer.endswith(b"\n"):
            if not _LAST.search(self._buffer):
                raise TransientStoreError("the response ends in the middle of a line")
            self._buffer += b"\n"
        self._push_lines()

    def _push_lines(self, searched: int = 0) -> None:
        """Push whole lines; none ends in the part that was searched before."""
        end = self._buffer.rfind(b"\n", searched) + 1
        if end:
            batch = _parse(bytes(self._buffer[:end]))
            del self._buffer[:end]
            if batch.num_rows:
                self._receive(batch)


def _parse(data: bytes) -> TripleBatch:
    try:
        text = pa.array([data], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise TransientStoreError(f"the response is not UTF-8 text: {error}") from error
    lines = pc.split_pattern(text, "\n").flatten()
    lines = pc.utf8_trim(lines, " \t\r")
    empty = pc.or_(pc.equal(lines, ""), pc.starts_with(lines, "#"))
    lines = lines.filter(pc.invert(empty))
    # Terms repeat, so the expressions look at each different one only once.
    pieces = pc.ascii_split_whitespace(lines, max_splits=2)
    if len(lines) and pc.min(pc.list_value_length(pieces)).as_py() < 3:
        raise _no_triple(lines.filter(pc.less(pc.list_value_length(pieces), 3)))
    subjects, predicates, objects = (
        pieces.flatten().take(pa.array(np.arange(at, 3 * len(lines), 3))).dictionary_encode()
        for at in range(3)
    )
    objects = _without_dot(objects)
    columns = []
    for column, shape in ((subjects, SUBJECT), (predicates, PREDICATE), (objects, OBJECT)):
        bad = pc.invert(pc.match_substring_regex(column.dictionary, shape))
        if pc.any(bad).as_py():
            raise _no_triple(column.dictionary.filter(bad))
        columns.append(_unescaped(column))
    return pa.RecordBatch.from_arrays(columns, names=["s", "p", "o"])


def _no_triple(texts: Any) -> TransientStoreError:
    return TransientStoreError(
        f"the response has a line that is not a triple: {texts[0].as_py()[:200]!r}"
    )


def _without_dot(column: Any) -> Any:
    """Objects without the dot that ends their statements."""
    texts = pc.ascii_rtrim(column.dictionary, " \t")
    bad = pc.invert(pc.ends_with(texts, "."))
    if pc.any(bad).as_py():
        raise _no_triple(texts.filter(bad))
    terms = pc.ascii_rtrim(pc.utf8_slice_codeunits(texts, 0, -1), " \t")
    return pa.DictionaryArray.from_arrays(column.indices, terms)


def _unescaped(column: Any) -> Any:
    """A column with the escapes in its IRIs decoded."""
    terms = column.dictionary
    escaped = pc.and_(pc.starts_with(terms, "<"), pc.match_substring(terms, "\\"))
    if not pc.any(escaped).as_py():
        return column
    try:
        texts = [
            unescaped(term) if chosen else term
            for term, chosen in zip(terms.to_pylist(), escaped.to_pylist(), strict=True)
        ]
        written = pa.array(texts, pa.string())
    except ValueError:  # an invalid escape
        raise _no_triple(terms.filter(escaped)) from None
    return pa.DictionaryArray.from_arrays(column.indices, written)
