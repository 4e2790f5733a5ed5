"""Any SPARQL 1.1 endpoint over HTTP.

Endpoints may truncate results silently. So every result is checked against a COUNT. A graph that
does not fit in one response is fetched in parts, and each part is checked. The capabilities of an
endpoint are detected once and cached in the workspace, with parts fetched before an interruption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from kgsync import queries
from kgsync.adapters.sparql import live_reading, scanning
from kgsync.adapters.sparql.client import Client
from kgsync.adapters.sparql.dialects import TRIPLES_PER_UPDATE
from kgsync.adapters.sparql.formats.csv import bucket_table, number_and_sum
from kgsync.adapters.sparql.formats.json import table_of_json
from kgsync.errors import ConfigError, PermanentStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import BucketTable, Function, Receive, StoreCapabilities, Term, TripleSource
from kgsync.graph.table import Table
from kgsync.queries import Pattern, is_iri
from kgsync.queries.calls import functions_called

__all__ = ["SparqlStore"]

_INSERTED_LENGTH = 8_000_000
"""Approximate maximum of characters per update."""
_NAMED = 500
"""Graphs in one query."""
_PROBED = 50_000
"""Rows to request to detect a row limit."""


class SparqlStore:
    """Reads and writes one endpoint; see `kgsync.graph.port` for the contract."""

    def __init__(self, endpoint: Endpoint, workspace: Path | None = None) -> None:
        """Detect what the endpoint can do; arguments and errors are those of `Client`."""
        self.label = str(endpoint)
        self._client = Client(endpoint, workspace)
        known = self._client.known
        self.capabilities = StoreCapabilities(
            writable=endpoint.update_url is not None,
            named_graphs=True,
            difference=True,
            checksums=known.checksums,
            union_default_graph=known.dialect.union_default_graph,
            shared=True,
            moving=True,
            buckets=known.marks,
        )

    @classmethod
    def open(
        cls, target: str | Endpoint, *, create: bool = False, workspace: Path | None = None
    ) -> SparqlStore:
        """Open an endpoint, given as a URL or as an `Endpoint`."""
        endpoint = target if isinstance(target, Endpoint) else Endpoint(target)
        return cls(endpoint, workspace)

    # -- small answers -----------------------------------------------------------------------------

    def graphs(self) -> list[str]:
        """IRIs of the named graphs that hold triples."""
        names = self._names("_graphs")
        if names:
            names = [name for part in _batched(names, _NAMED) for name in self._filled(part)]
        else:
            names = self._names("_graph_sizes")
        return sorted(name for name in {*names} if not self._client.known.is_system_graph(name))

    def _names(self, query: str) -> list[str]:
        rows = self.select(queries.load(query).bind())
        return [row[0].value for row in rows if row[0] is not None and row[0].kind == "iri"]

    def _filled(self, names: tuple[str, ...]) -> list[str]:
        """The given named graphs that hold triples; names that are not IRIs are skipped."""
        valid = [name for name in names if is_iri(name)]
        rows = self.select(queries.load("_graphs_with_triples").bind(graphs=valid))
        return [row[0].value for row in rows if row[0] is not None]

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a small SELECT."""
        return self._client.rows(query)

    def query(self, text: str, functions: Mapping[str, Function]) -> Table:
        """The complete result of a SELECT or an ASK; endpoints do not support custom functions."""
        if queries.query_form(text) in ("CONSTRUCT", "DESCRIBE"):
            raise ConfigError("only SELECT and ASK queries are supported here")
        called = (functions_called(text) or set()) & functions.keys()
        if called:
            raise ConfigError(
                f"the query calls <{min(called)}>, which only embedded stores support, but "
                f"{self.label} is an endpoint; use `kgsync neighbors` or `kgsync predict`"
            )
        return self._client.json(text, table_of_json)

    def count(self, source: TripleSource) -> int:
        """Number of triples of a source."""
        return self._client.count(self._pattern(source))

    def count_difference(self, source: TripleSource, base: TripleSource) -> int:
        """Number of triples of a source that the base lacks."""
        return self._client.count(self._difference(source, base))

    def checksum(self, source: TripleSource) -> tuple[int, int]:
        """Number of edges of a source, and the sum of the numbers in their hashes."""
        query = queries.load("_checksum").bind(where=self._pattern(source))
        return self._client.csv(query, number_and_sum)

    def count_buckets(
        self, source: TripleSource, digits: int, at_most: int | None = None
    ) -> BucketTable:
        """The buckets of a source and the count of all its triples, in one response."""
        where = self._pattern(source)
        if at_most is not None:
            where = queries.load("_pattern_some").pattern(where=where, most=at_most)
        query = queries.load(f"_bucket_{self.capabilities.buckets}")
        return self._client.csv(query.bind(where=where, digits=digits), bucket_table)

    # -- large answers -----------------------------------------------------------------------------

    def scan(self, source: TripleSource, receive: Receive, *, careful: bool = False) -> None:
        """Push the triples of a source, in one response or in parts."""
        self._scan(self._pattern(source), receive, careful=careful)

    def scan_difference(self, source: TripleSource, base: TripleSource, receive: Receive) -> None:
        """Push the triples of a source that the base lacks."""
        self._scan(self._difference(source, base), receive)

    def scan_moving(
        self, source: TripleSource, receive: Receive, *, careful: bool = False, parts: bool = False
    ) -> None:
        """Push the triples of a source that others may change meanwhile."""
        where = self._pattern(source)
        with self._client.named_errors():
            live_reading.scan_moving(self._client, where, receive, careful=careful, parts=parts)

    def scan_buckets(self, source: TripleSource, buckets: dict[str, int], receive: Receive) -> None:
        """Push the edges of some buckets, in as few requests as the row limit allows."""
        with self._client.named_errors():
            live_reading.scan_buckets(self._client, self._pattern(source), buckets, receive)

    def _scan(self, where: Pattern, receive: Receive, *, careful: bool = False) -> None:
        with self._client.named_errors():
            scanning.scan(self._client, where, receive, careful=careful)

    # -- writing -----------------------------------------------------------------------------------

    def insert(self, graph: str, ntriples: str) -> None:
        """Add N-Triples to a named graph, at most a thousand at a time."""
        # splitlines() would also split at other line breaks inside a literal.
        lines = [line for line in ntriples.split("\n") if line.strip()]
        longest = max(map(len, lines), default=1)
        step = max(1, min(TRIPLES_PER_UPDATE, _INSERTED_LENGTH // longest))
        for start in range(0, len(lines), step):
            text = "\n".join(lines[start : start + step])
            try:
                update = queries.load("_insert_data").bind(graph=graph, triples=text)
            except ConfigError as error:
                raise PermanentStoreError(f"{self.label}: {error}") from None
            self.update(update)

    def update(self, text: str) -> None:
        """Run one SPARQL update."""
        if not self.capabilities.writable:
            raise PermanentStoreError(f"{self.label} is read-only; set `update_url`")
        self._client.update(text)

    def close(self) -> None:
        """Nothing is kept open."""

    # -- what is known -----------------------------------------------------------------------------

    def describe(self) -> str:
        """What the server calls itself."""
        return self._client.known.server.strip() or "a SPARQL endpoint"

    def find_limit(self, source: TripleSource) -> int | None:
        """The row limit of the endpoint, as far as this graph can show it."""
        if self._client.max_rows is None:
            where = self._pattern(source)
            self._client.look_for_lower_limit(where, min(self._client.count(where), _PROBED))
        return self._client.max_rows

    def _pattern(self, source: TripleSource) -> Pattern:
        return source.pattern(union=self.capabilities.union_default_graph)

    def _difference(self, source: TripleSource, base: TripleSource) -> Pattern:
        return source.difference(base, union=self.capabilities.union_default_graph)


def _batched(names: list[str], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(names), size):
        yield tuple(names[start : start + size])
