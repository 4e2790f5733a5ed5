"""SPARQL results in CSV: tables of names and numbers. Some servers are ten times slower in JSON."""

from __future__ import annotations

import csv
import io

from kgsync.adapters.sparql.failures import HalfwayError
from kgsync.adapters.sparql.formats.json import check_limit
from kgsync.adapters.sparql.http import Answer
from kgsync.errors import TransientStoreError
from kgsync.graph.port import BucketTable

__all__ = ["bucket_table", "named_counts", "number_and_sum"]

_NO_EDGES = "-"
"""The bucket of triples that are not edges."""


def _rows(answer: Answer, columns: int | None = None) -> list[list[str]]:
    """The rows of a SELECT, without the header.

    Args:
        answer: The table.
        columns: Expected number of columns; any number if not given.

    Raises:
        TransientStoreError: It is not such a table, or was cut off.
    """
    check_limit(answer)
    try:
        head, *rows = csv.reader(io.StringIO(answer.text().decode(), newline=""), strict=True)
    except (ValueError, csv.Error) as error:
        raise TransientStoreError(f"the response is not a CSV table: {error}") from error
    if any(len(row) != (columns or len(head)) for row in rows):
        raise TransientStoreError(
            "the response is not a CSV table: a row does not match the header"
        )
    return rows


def named_counts(answer: Answer) -> dict[str, int]:
    """Counts by name; a single count has the empty name."""
    return {"".join(name): _whole_number(count) for *name, count in _rows(answer)}


def number_and_sum(answer: Answer) -> tuple[int, int]:
    """The single row with a number and a sum; the sum is empty if there is nothing to add."""
    rows = _rows(answer, 2)
    if len(rows) != 1:
        raise TransientStoreError(f"the response has {len(rows)} rows instead of one")
    ((number, total),) = rows
    return _whole_number(number), _whole_number(total or "0")


def bucket_table(answer: Answer) -> BucketTable:
    """Buckets with their counts and marks; the row without a bucket counts all triples.

    Raises:
        TransientStoreError: The counts do not add up.
    """
    counts: dict[str, tuple[int, str]] = {}
    for bucket, count, mark in _rows(answer, 3):
        counts[bucket] = _whole_number(count), mark
    triples, _ = counts.pop("", (None, ""))
    if triples is None or triples != sum(count for count, _ in counts.values()):
        # A retry would hash everything again.
        raise HalfwayError("the counts of its buckets do not add up to the total")
    counts.pop(_NO_EDGES, None)
    return BucketTable(triples, counts)


def _whole_number(text: str) -> int:
    """A number in a table.

    Raises:
        TransientStoreError: It is not a number.
    """
    try:
        return int(text)
    except ValueError:
        raise TransientStoreError(f"the response has {text[:60]!r} instead of a number") from None
