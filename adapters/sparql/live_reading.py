"""Read a graph that others change concurrently: every response is checked by its own count."""

from __future__ import annotations

from kgsync import queries
from kgsync.adapters.sparql.client import Client
from kgsync.adapters.sparql.counted_responses import IncompleteError
from kgsync.adapters.sparql.failures import RowLimitError
from kgsync.adapters.sparql.parts import Part, packed, parts_of
from kgsync.common.retrying import Retry
from kgsync.errors import PermanentStoreError
from kgsync.graph.port import Receive, TripleBatch
from kgsync.queries import Pattern

__all__ = ["scan_buckets", "scan_moving"]

_PARTS, _LEAST, _MOST = 50, 200, 20_000
"""So many parts, of at least and at most so many triples: nearly all of them hold still while they
are sent."""
_LARGER = 3
"""A predicate may be so many times as large: cutting it by its subjects takes many requests."""
_UNTIL_AT_REST = Retry(8)
"""A part is read again until it held still for as long as that takes."""


def scan_moving(
    client: Client, where: Pattern, receive: Receive, *, careful: bool, parts: bool
) -> None:
    """Push every triple that was there throughout, once, and none that was never there.

    Args:
        client: The client of the endpoint.
        where: The graph.
        receive: Takes the batches.
        careful: Use the slow and safe format.
        parts: Read in small parts, each complete by itself.

    Raises:
        IncompleteError: A response was not complete, or the graph changes too fast.
    """
    most = client.max_rows
    if not parts and (most is None or client.count(where) < most):
        try:
            client.push_counted(where, receive, careful=careful)
        except RowLimitError as error:
            most = client.note_limit(error.limit)
        else:
            return
    total, came = client.count(where), 0
    limit = _with_room(most) if most else total
    size = min(max(_LEAST, total // _PARTS), _MOST, max(1, limit))
    largest = min(limit, size * _LARGER)
    for part in parts_of(client.counts, where, total, size, largest=largest, moving=True):
        for batch in _batches(client, part, careful):
            came += batch.num_rows
            receive(batch)
    after = client.count(where)
    if abs(came - after) > abs(after - total) + after // 100 + _LEAST:
        raise IncompleteError(
            f"{came:,} triples arrived in parts, but the count was {total:,} before "
            f"and {after:,} after"
        )


def scan_buckets(client: Client, where: Pattern, buckets: dict[str, int], receive: Receive) -> None:
    """Push the edges of some buckets, in as few requests as the row limit allows.

    Args:
        client: The client of the endpoint.
        where: The graph.
        buckets: Their names, and about how many edges each has.
        receive: Takes the batches.
    """
    most = client.max_rows or sum(buckets.values()) + 1
    for names, _ in packed(buckets.items(), max(1, _with_room(most)), len(buckets)):
        some = queries.load("_pattern_buckets").pattern(
            where=where,
            digits=len(names[0]),
            buckets="".join(f"{name} " for name in names),
        )
        client.push_counted(some, receive, careful=False)


def _with_room(most: int) -> int:
    """A size below the row limit, because parts may grow before they are read."""
    return most * 9 // 10


def _batches(client: Client, part: Part, careful: bool) -> list[TripleBatch]:
    """Fetch one part; by hashes if the endpoint rejects a query with the terms."""

    def read() -> list[TripleBatch]:
        batches: list[TripleBatch] = []
        client.push_counted(part.where, batches.append, careful=careful)
        return batches

    try:
        return _UNTIL_AT_REST.call(read)
    except PermanentStoreError:
        if part.otherwise is None:
            raise
    return _batches(client, part.otherwise, careful)
