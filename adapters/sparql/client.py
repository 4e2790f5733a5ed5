"""Requests counts, tables and triples from one endpoint, within its row limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from kgsync import queries
from kgsync.adapters.columns import push_rows
from kgsync.adapters.sparql.capabilities import Known
from kgsync.adapters.sparql.counted_responses import CountedAnswer, IncompleteError
from kgsync.adapters.sparql.dialects import limit_behind
from kgsync.adapters.sparql.failures import BROKEN, HalfwayError, naming
from kgsync.adapters.sparql.formats.csv import named_counts
from kgsync.adapters.sparql.formats.json import rows_of_json
from kgsync.adapters.sparql.formats.ntriples import NTriplesSink
from kgsync.adapters.sparql.formats.xml import rows_of_xml
from kgsync.adapters.sparql.http import Answer, Transport
from kgsync.adapters.sparql.parts import only_count
from kgsync.errors import StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import Receive, Term, TripleBatch
from kgsync.queries import Pattern

__all__ = ["Client"]

T = TypeVar("T")

_JSON = "application/sparql-results+json, application/json"
_CSV = "text/csv"
_XML = "application/sparql-results+xml, application/xml, text/xml"
_NTRIPLES = "application/n-triples, text/plain"
_LEAST_LIMIT = 100
"""A shorter result is an error, not the endpoint's row limit."""


class Client:
    """The client of one endpoint, with what is known about the server."""

    def __init__(self, endpoint: Endpoint, workspace: Path | None = None) -> None:
        """Detect what the endpoint can do, unless that is known.

        Args:
            endpoint: Where it is.
            workspace: Folder for cached knowledge; without it nothing is cached.

        Raises:
            StoreError: It cannot be reached, or is not a SPARQL endpoint.
        """
        self.label = str(endpoint)
        self.workspace = workspace
        self._endpoint = endpoint
        self._transport = Transport(endpoint)
        self.known = (Known.load(workspace) if workspace else None) or self._probe()
        self._transport.server = self.known.server
        self._transport.expects = self._expects

    # -- small answers -----------------------------------------------------------------------------

    def rows(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a small SELECT."""
        return self.json(query, rows_of_json)

    def json(self, query: str, use: Callable[[Answer], T]) -> T:
        """Send a query and parse its JSON result."""
        return self._transport.query(query, _JSON, use)

    def csv(self, query: str, use: Callable[[Answer], T]) -> T:
        """Send a query and parse its CSV result."""
        with self.named_errors():
            return self._transport.query(query, _CSV, use)

    def counts(self, query: str) -> dict[str, int]:
        """Counts by name; a single count has the empty name."""
        return self._transport.query(query, _CSV, named_counts)

    def count(self, where: Pattern) -> int:
        """Number of triples."""
        with self.named_errors():
            return only_count(self.counts(queries.load("_count").bind(where=where)))

    def update(self, text: str) -> None:
        """Run one SPARQL update."""
        self._transport.update(text)

    # -- triples -----------------------------------------------------------------------------------

    def push(self, where: Pattern, receive: Receive, *, careful: bool) -> int:
        """Pass on the triples of one response; returns how many arrived."""
        came = 0

        def counted(batch: TripleBatch) -> None:
            nonlocal came
            receive(batch)
            came += batch.num_rows

        def use(answer: Answer) -> None:
            try:
                (_push_terms if careful else _push_statements)(answer, counted)
            except (TransientStoreError, *BROKEN) as error:
                if came:
                    raise HalfwayError(str(error) or repr(error)) from error
                raise

        if careful:
            # A raw tab or line break inside an IRI breaks N-Triples; XML can escape it.
            query = queries.load("_triples").bind(where=where, mark="")
            self._transport.query(query, _XML, use)
        else:
            query = queries.load("_statements").bind(where=where)
            self._transport.query(query, _NTRIPLES, use)
        return came

    def push_counted(self, where: Pattern, receive: Receive, *, careful: bool) -> None:
        """Pass on the triples of one response that also contains their count.

        Raises:
            IncompleteError: Triples are missing.
        """
        counting = CountedAnswer(receive)
        counted = queries.load("_pattern_counted").pattern(where=where, mark=counting.mark)
        came = self.push(counted, counting.receive, careful=careful)
        try:
            counting.check()
        except IncompleteError:
            if counting.looks_cut:
                self.suspect(came)
            raise

    # -- the limit on rows -------------------------------------------------------------------------

    @property
    def max_rows(self) -> int | None:
        """The known row limit of the endpoint."""
        limits = [self._endpoint.max_rows, self.known.max_rows]
        return min((limit for limit in limits if limit), default=None)

    def look_for_lower_limit(self, where: Pattern, rows: int) -> None:
        """Request this many rows, and record a limit if fewer arrive."""
        some = queries.load("_pattern_some").pattern(where=where, most=rows)
        came = self.push(some, _ignore, careful=False)
        if _LEAST_LIMIT <= came < rows:
            self._remember(replace(self.known, suspected=None, max_rows=limit_behind(came)))

    def note_limit(self, rows: int) -> int:
        """Record a limit safely below the number of rows at which the server fails."""
        most = max(1, rows * 9 // 10)
        self._remember(replace(self.known, suspected=None, max_rows=most))
        return most

    def suspect(self, came: int) -> None:
        """Record a short response as the endpoint's limit if it has the same length twice."""
        if came < _LEAST_LIMIT:
            return
        if self.known.suspected == came:
            self._remember(replace(self.known, suspected=None, max_rows=limit_behind(came)))
        else:
            self._remember(replace(self.known, suspected=came))

    # -- what is known -----------------------------------------------------------------------------

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Adds the store's name to errors that lack it."""
        try:
            yield
        except StoreError as error:
            named = naming(self.label, error)
            if named is error:
                raise
            raise named from error

    def _probe(self) -> Known:
        rows = self.rows(queries.load("_can_hash").bind())
        if [len(row) for row in rows] != [2]:
            raise TransientStoreError(f"{self.label} sent {len(rows)} rows instead of one")
        found = Known.of(self._transport.server, *rows[0])
        self._remember(found)
        return found

    def _expects(self, server: str) -> bool:
        """Whether the cached knowledge is about this server; if not, the cache is removed."""
        if not self.known.is_about(server) and self.workspace is not None:
            Known.forget(self.workspace)
        return self.known.is_about(server)

    def _remember(self, known: Known) -> None:
        self.known = known
        if self.workspace is not None:
            known.save(self.workspace)


def _ignore(batch: TripleBatch) -> None:
    """Used where only the count matters."""


def _push_statements(answer: Answer, receive: Receive) -> None:
    sink = NTriplesSink(receive)
    for piece in answer.pieces():
        sink.write(piece)
    sink.finish()


def _push_terms(answer: Answer, receive: Receive) -> None:
    push_rows(((s, p, o) for s, p, o, _ in rows_of_xml(answer.pieces())), receive)
