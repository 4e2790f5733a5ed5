"""SPARQL results in CSV: tables of names and numbers; for JSON Virtuoso takes ten times as long."""

from __future__ import annotations

import csv
import io

from kgsync.adapters.sparql_http import Answer
from kgsync.adapters.sparql_json import check_limit
from kgsync.errors import TransientStoreError
from kgsync.graph.port import BucketTable

__all__ = ["bucket_table", "named_counts", "rows_of_csv", "whole_number"]

_NO_EDGES = "-"
"""The bucket of what is no edge."""


def rows_of_csv(answer: Answer) -> list[list[str]]:
    """The rows of a SELECT, without its head.

    Raises:
        TransientStoreError: It is no table, or was cut off.
    """
    check_limit(answer)
    try:
        head, *rows = csv.reader(io.StringIO(answer.text().decode()), strict=True)
    except (ValueError, csv.Error) as error:
        raise TransientStoreError(f"the answer is no table: {error}") from error
    if any(len(row) != len(head) for row in rows):
        raise TransientStoreError("the answer is no table: a row has other columns than the head")
    return rows


def named_counts(answer: Answer) -> dict[str, int]:
    """Names and counts; without names one count, under an empty one."""
    return {"".join(name): whole_number(count) for *name, count in rows_of_csv(answer)}


def bucket_table(answer: Answer) -> BucketTable:
    """Buckets with their counts and marks; the row without a bucket counts all triples.

    Raises:
        TransientStoreError: The counts do not add up.
    """
    counts: dict[str, tuple[int, str]] = {}
    for bucket, count, mark in rows_of_csv(answer):
        counts[bucket] = whole_number(count), mark
    triples, _ = counts.pop("", (None, ""))
    if triples is None or triples != sum(count for count, _ in counts.values()):
        raise TransientStoreError("the counts of its buckets do not add up")
    counts.pop(_NO_EDGES, None)
    return BucketTable(triples, counts)


def whole_number(text: str) -> int:
    """A number in a table.

    Raises:
        TransientStoreError: It is none.
    """
    try:
        return int(text)
    except ValueError:
        raise TransientStoreError(
            f"the answer has {text[:60]!r} where a number was expected"
        ) from None
