"""Read a graph that does not change: in one response or in parts, each checked by a COUNT."""

from __future__ import annotations

from contextlib import suppress

from kgsync import queries
from kgsync.adapters.sparql.client import Client
from kgsync.adapters.sparql.failures import RowLimitError
from kgsync.adapters.sparql.kept_parts import KeptParts, bucket_counts
from kgsync.adapters.sparql.parts import Part, parts_of
from kgsync.common.retrying import Retry
from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.port import Receive, TripleBatch
from kgsync.queries import Pattern

__all__ = ["scan"]

_PER_PART = Retry(2)


def scan(client: Client, where: Pattern, receive: Receive, *, careful: bool = False) -> None:
    """Push the triples of a graph.

    Args:
        client: The client of the endpoint.
        where: The graph.
        receive: Takes the batches.
        careful: Use the slow and safe format.

    Raises:
        TransientStoreError: Triples are missing.
    """
    total = client.count(where)
    most = client.max_rows
    if most is None or total <= most:
        try:
            came = client.push(where, receive, careful=careful)
        except RowLimitError as error:
            most = client.note_limit(error.limit)
        else:
            if came < total:
                client.suspect(came)
                raise _sent(client, f"{came:,} of {total:,} triples")
            return
    with KeptParts(client.workspace, where, total) as kept:
        try:
            for part in parts_of(client.counts, where, total, most):
                for batch in _batches(client, part, kept, careful):
                    receive(batch)
        except TransientStoreError:
            with suppress(StoreError):
                client.look_for_lower_limit(where, min(total, most))
            raise


def _batches(client: Client, part: Part, kept: KeptParts, careful: bool) -> list[TripleBatch]:
    """Get one part; by hashes if the endpoint rejects a query with the terms."""
    try:
        return _kept(client, part, kept) or _fetched(client, part, kept, careful)
    except PermanentStoreError:
        if part.otherwise is None:
            raise
    return _batches(client, part.otherwise, kept, careful)


def _kept(client: Client, part: Part, kept: KeptParts) -> list[TripleBatch]:
    """One cached part, if it still matches the endpoint."""
    batches = kept.batches(part)
    if not batches or not client.known.hashes:
        return []
    digits = 3 if part.count > 16**3 else 2 if part.count > 16**2 else 1
    query = queries.load("_count_buckets").bind(where=part.where, digits=digits)
    return batches if client.counts(query) == bucket_counts(batches, digits) else []


def _fetched(client: Client, part: Part, kept: KeptParts, careful: bool) -> list[TripleBatch]:
    """Fetch one complete part."""

    def fetch() -> list[TripleBatch]:
        batches: list[TripleBatch] = []
        came = client.push(part.where, batches.append, careful=careful)
        if came != part.count:
            raise _sent(client, f"{came:,} triples of a part with {part.count:,}")
        return batches

    batches = _PER_PART.call(fetch)
    kept.keep(part, batches)
    return batches


def _sent(client: Client, what: str) -> TransientStoreError:
    error = TransientStoreError(f"{client.label} sent {what}")
    error.store = client.label
    return error
