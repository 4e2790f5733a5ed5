"""SPARQL results in CSV: names and their counts."""

from __future__ import annotations

import csv
import io

from kgsync.adapters.sparql_http import Answer
from kgsync.adapters.sparql_json import check_limit
from kgsync.errors import TransientStoreError

__all__ = ["counts_of_csv"]


def counts_of_csv(answer: Answer) -> dict[str, int]:
    """The counts by name of an answer; without names one count, under an empty one.

    Raises:
        TransientStoreError: It is not such a table, or was cut off.
    """
    check_limit(answer)
    try:
        head, *rows = csv.reader(io.StringIO(answer.text().decode(), newline=""), strict=True)
        if any(len(row) != len(head) for row in rows):
            raise ValueError("a row has other columns than the head")
        return {"".join(name): int(count) for *name, count in rows}
    except (ValueError, csv.Error) as error:
        raise TransientStoreError(f"the answer is no table of counts: {error}") from error
