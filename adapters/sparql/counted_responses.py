"""Responses that contain the count of their own triples, to check that they are complete."""

from __future__ import annotations

import re
import secrets

import pyarrow as pa
import pyarrow.compute as pc

from kgsync.errors import TransientStoreError
from kgsync.graph.port import Receive, TripleBatch

__all__ = ["CountedAnswer", "IncompleteError"]

_NUMBER = re.compile(r'"?(\d+)\b.*', re.DOTALL)
_CUT_SHARE = 0.9


class IncompleteError(TransientStoreError):
    """A response does not have as many triples as it counts."""


class CountedAnswer:
    """Takes the batches of a `_pattern_counted` query and separates the count from the triples."""

    def __init__(self, receive: Receive) -> None:
        """Pass batches without the count to `receive`."""
        self.mark = f"urn:kgsync:count:{secrets.token_hex(8)}"
        """Subject of the triple with the count; random, so that no graph contains it."""
        self._receive = receive
        self._came = 0
        self._count: int | None = None

    def receive(self, batch: TripleBatch) -> None:
        """Take a batch."""
        subjects = batch.column(0)
        found = pc.index(subjects.dictionary, pa.scalar(f"<{self.mark}>")).as_py()
        if found >= 0:
            counts = pc.equal(subjects.indices, found)
            numbers = batch.column(2).filter(counts).to_pylist()
            match = _NUMBER.fullmatch(numbers[0])
            if len(numbers) > 1 or match is None or self._count is not None:
                raise IncompleteError("malformed count of triples in the response")
            self._count = int(match[1])
            batch = batch.filter(pc.invert(counts))
        self._came += batch.num_rows
        if batch.num_rows:
            self._receive(batch)

    @property
    def looks_cut(self) -> bool:
        """Whether so much is missing that a row limit is more likely than a concurrent change."""
        return self._count is None or self._came < _CUT_SHARE * self._count

    def check(self) -> None:
        """Check that all triples arrived.

        Raises:
            IncompleteError: Triples are missing.
        """
        if self._count != self._came:
            counted = "without a count" if self._count is None else f"of {self._count:,}"
            raise IncompleteError(
                f"{self._came:,} triples arrived {counted}: the response was cut off or the graph "
                "changed during the read; nothing was committed, try again"
            )
