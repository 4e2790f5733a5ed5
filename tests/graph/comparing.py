"""An embedded store that compares versions and tells buckets by SPARQL, as an endpoint does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyoxigraph as ox

from kgsync import queries
from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.graph.port import BucketTable, Marks, Receive, TripleSource


class Comparing(OxigraphStore):
    """Real queries over a real store, without a server between."""

    def __init__(self, store: ox.Store, marks: Marks | None = "sums", **able: Any) -> None:
        super().__init__(store, "a store", owned=False)
        self.capabilities = replace(
            self.capabilities, difference=True, checksums="all", buckets=marks, **able
        )
        self.asked: list[str] = []
        """Buckets that were read, and other things that were asked for."""

    def scan_difference(self, source: TripleSource, base: TripleSource, receive: Receive) -> None:
        self.asked.append("difference")
        self._push(source.difference(base, union=False), receive)

    def count_difference(self, source: TripleSource, base: TripleSource) -> int:
        return self._count(source.difference(base, union=False))

    def checksum(self, source: TripleSource) -> tuple[int, int]:
        self.asked.append("checksum")
        query = queries.load("_checksum").bind(where=source.pattern(union=False))
        ((number, total),) = self.select(query)
        assert number is not None
        return int(number.value), int(total.value) if total is not None else 0

    def count_buckets(
        self, source: TripleSource, digits: int, at_most: int | None = None
    ) -> BucketTable:
        query = queries.load(f"_bucket_{self.capabilities.buckets}")
        rows = self.select(query.bind(where=source.pattern(union=False), digits=digits))
        found = {
            bucket.value if bucket else "": (int(n.value), mark.value if mark else "")
            for bucket, n, mark in rows
            if n is not None
        }
        triples, _ = found.pop("")
        found.pop("-", None)
        return BucketTable(triples, found)

    def scan_buckets(self, source: TripleSource, buckets: dict[str, int], receive: Receive) -> None:
        self.asked.extend(buckets)
        where = queries.load("_pattern_buckets").pattern(
            where=source.pattern(union=False),
            digits=len(next(iter(buckets))),
            buckets="".join(f"{name} " for name in buckets),
        )
        self._push(where, receive)
