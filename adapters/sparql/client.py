"""Asks one endpoint for counts, tables and triples, and keeps its limit on rows in mind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from kgsync import queries
from kgsync.adapters.columns import push_rows
from kgsync.adapters.sparql.counted import CountedAnswer, IncompleteError
from kgsync.adapters.sparql.csv import named_counts
from kgsync.adapters.sparql.dialects import limit_behind
from kgsync.adapters.sparql.failures import BROKEN, HalfwayError, naming
from kgsync.adapters.sparql.http import Answer, Transport
from kgsync.adapters.sparql.json import rows_of_json
from kgsync.adapters.sparql.known import Known
from kgsync.adapters.sparql.ntriples import NTriplesSink
from kgsync.adapters.sparql.parts import only_count
from kgsync.adapters.sparql.xml import rows_of_xml
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
"""A shorter answer is a broken one, not an endpoint's limit on rows."""


class Client:
    """What is asked of one endpoint, in the formats that suit, with what is known about it."""

    def __init__(self, endpoint: Endpoint, workspace: Path | None = None) -> None:
        """Ask the endpoint what it can do, unless that is known.

        Args:
            endpoint: Where it is.
            workspace: Folder for what is remembered; nothing is if not given.

        Raises:
            StoreError: It cannot be reached, or is no SPARQL endpoint.
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
        """What can be made of an answer in JSON."""
        return self._transport.query(query, _JSON, use)

    def csv(self, query: str, use: Callable[[Answer], T]) -> T:
        """What can be made of an answer in CSV."""
        with self.named_errors():
            return self._transport.query(query, _CSV, use)

    def counts(self, query: str) -> dict[str, int]:
        """Names and counts; without names one count, under an empty one."""
        return self._transport.query(query, _CSV, named_counts)

    def count(self, where: Pattern) -> int:
        """How many triples there are."""
        with self.named_errors():
            return only_count(self.counts(queries.load("_count").bind(where=where)))

    def update(self, text: str) -> None:
        """Run one SPARQL update."""
        self._transport.update(text)

    # -- triples -----------------------------------------------------------------------------------

    def push(self, where: Pattern, receive: Receive, *, careful: bool) -> int:
        """Pass the triples of one answer on; returns how many came."""
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
            # A raw tab or line break inside an IRI breaks N-Triples; XML has a way to write it.
            query = queries.load("_triples").bind(where=where, mark="")
            self._transport.query(query, _XML, use)
        else:
            query = queries.load("_statements").bind(where=where)
            self._transport.query(query, _NTRIPLES, use)
        return came

    def push_counted(self, where: Pattern, receive: Receive, *, careful: bool) -> None:
        """Pass on the triples of one answer that also says how many they are.

        Raises:
            IncompleteError: Not all of them came.
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
        """How many rows an answer may have, as far as anybody knows."""
        limits = [self._endpoint.max_rows, self.known.max_rows]
        return min((limit for limit in limits if limit), default=None)

    def look_for_lower_limit(self, where: Pattern, rows: int) -> None:
        """Ask for as many rows as there are or should come, and see whether fewer do."""
        some = queries.load("_pattern_some").pattern(where=where, most=rows)
        came = self.push(some, _ignore, careful=False)
        if _LEAST_LIMIT <= came < rows:
            self._remember(replace(self.known, suspected=None, max_rows=limit_behind(came)))

    def note_limit(self, rows: int) -> int:
        """Stay clear of the number of rows beyond which a server cannot answer."""
        most = max(1, rows * 9 // 10)
        self._remember(replace(self.known, suspected=None, max_rows=most))
        return most

    def suspect(self, came: int) -> None:
        """Take a short answer for the endpoint's limit if it is as short the second time."""
        if came < _LEAST_LIMIT:
            return
        if self.known.suspected == came:
            self._remember(replace(self.known, suspected=None, max_rows=limit_behind(came)))
        else:
            self._remember(replace(self.known, suspected=came))

    # -- what is known -----------------------------------------------------------------------------

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Says whose error it is, where that is not known."""
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
        """Whether this is about a server; if not, it is forgotten for the next one who opens it."""
        if not self.known.is_about(server) and self.workspace is not None:
            Known.forget(self.workspace)
        return self.known.is_about(server)

    def _remember(self, known: Known) -> None:
        self.known = known
        if self.workspace is not None:
            known.save(self.workspace)


def _ignore(batch: TripleBatch) -> None:
    """Only how many came matters."""


def _push_statements(answer: Answer, receive: Receive) -> None:
    sink = NTriplesSink(receive)
    for piece in answer.pieces():
        sink.write(piece)
    sink.finish()


def _push_terms(answer: Answer, receive: Receive) -> None:
    push_rows(((s, p, o) for s, p, o, _ in rows_of_xml(answer.pieces())), receive)
