"""Any SPARQL 1.1 endpoint over HTTP.

Endpoints cut answers off, silently. So nothing that arrives is believed before it has been counted:
a graph that does not come whole in one answer is fetched in parts, each checked against its count.
What an endpoint can do is found out once and remembered in the workspace, with parts that were
fetched before an interruption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from kgsync import queries
from kgsync.adapters.columns import push_rows
from kgsync.adapters.sparql.counted import CountedAnswer, IncompleteError
from kgsync.adapters.sparql.csv import bucket_table, named_counts, number_and_sum
from kgsync.adapters.sparql.http import (
    BROKEN,
    Answer,
    HalfwayError,
    RowLimitError,
    Transport,
)
from kgsync.adapters.sparql.json import rows_of_json, table_of_json
from kgsync.adapters.sparql.kept import KeptParts, bucket_counts
from kgsync.adapters.sparql.known import Known
from kgsync.adapters.sparql.ntriples import NTriplesSink
from kgsync.adapters.sparql.parts import Part, only_count, packed, parts_of
from kgsync.adapters.sparql.xml import rows_of_xml
from kgsync.errors import ConfigError, PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import (
    BucketTable,
    Function,
    Receive,
    StoreCapabilities,
    Term,
    TripleBatch,
    TripleSource,
)
from kgsync.graph.table import Table
from kgsync.queries import Pattern, is_iri
from kgsync.queries.calls import functions_called

__all__ = ["SparqlStore"]

_JSON = "application/sparql-results+json, application/json"
_CSV = "text/csv"
_XML = "application/sparql-results+xml, application/xml, text/xml"
_NTRIPLES = "application/n-triples, text/plain"
_INSERTED = 1000
"""Triples in one update: Virtuoso takes no more than some thousands."""
_INSERTED_LENGTH = 8_000_000
"""And at most about so many characters."""
_NAMED = 500
"""Graphs in one query."""
_PROBED = 50_000
"""Rows that are asked for to see a limit."""
_LEAST_LIMIT = 100
"""A shorter answer is a broken one, not an endpoint's limit on rows."""
_MOVING_PARTS, _MOVING_LEAST, _MOVING_MOST, _MOVING_TRIES = 50, 200, 20_000, 8
"""Parts of a graph that moves: so many, of at least and at most so many triples, so that nearly all
of them hold still while they are sent; and how often one is read at most."""
_MOVING_LARGER = 3
"""A predicate may be so many times as large: cutting it by its subjects takes many requests."""


class SparqlStore:
    """Reads and writes one endpoint; see `kgsync.graph.port` for the contract."""

    def __init__(self, endpoint: Endpoint, workspace: Path | None = None) -> None:
        """Ask the endpoint what it can do, unless that is known.

        Args:
            endpoint: Where it is.
            workspace: Folder for what is remembered; nothing is if not given.

        Raises:
            StoreError: It cannot be reached, or is no SPARQL endpoint.
        """
        self.label = str(endpoint)
        self._endpoint = endpoint
        self._transport = Transport(endpoint)
        self._workspace = workspace
        self._known = (Known.load(workspace) if workspace else None) or self._probe()
        self._transport.server = self._known.server
        self._transport.expects = self._expects
        self.capabilities = StoreCapabilities(
            writable=endpoint.update_url is not None,
            named_graphs=True,
            difference=True,
            checksums=self._known.checksums,
            union_default_graph=self._known.is_virtuoso,
            shared=True,
            moving=True,
            buckets=self._known.marks,
        )

    @classmethod
    def open(
        cls, target: str | Endpoint, *, create: bool = False, workspace: Path | None = None
    ) -> SparqlStore:
        """Open an endpoint, named by its address or with everything else."""
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
        return sorted(name for name in {*names} if not self._known.is_system_graph(name))

    def _filled(self, names: tuple[str, ...]) -> list[str]:
        """Those of some named graphs that hold triples; one with a name that is no IRI is none."""
        valid = [name for name in names if is_iri(name)]
        rows = self.select(queries.load("_graphs_with_triples").bind(graphs=valid))
        return [row[0].value for row in rows if row[0] is not None]

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a small SELECT."""
        return self._transport.query(query, _JSON, rows_of_json)

    def query(self, text: str, functions: Mapping[str, Function]) -> Table:
        """The whole answer to a SELECT or an ASK, which the endpoint runs without functions."""
        if queries.query_form(text) in ("CONSTRUCT", "DESCRIBE"):
            raise ConfigError("only SELECT and ASK are answered here, as tables")
        called = (functions_called(text) or set()) & functions.keys()
        if called:
            raise ConfigError(
                f"the query calls <{min(called)}>, which works on embedded stores only, and "
                f"{self.label} is an endpoint; `kgsync neighbors` and `kgsync predict` work there"
            )
        return self._transport.query(text, _JSON, table_of_json)

    def count(self, source: TripleSource) -> int:
        """Number of triples of a source."""
        return self._count(self._pattern(source))

    def count_difference(self, source: TripleSource, base: TripleSource) -> int:
        """Number of triples of a source that the base lacks."""
        return self._count(self._difference(source, base))

    def checksum(self, source: TripleSource) -> tuple[int, int]:
        """Number of edges of a source, and the sum of the numbers in their hashes."""
        query = queries.load("_checksum").bind(where=self._pattern(source))
        with self._named_errors():
            return self._transport.query(query, _CSV, number_and_sum)

    def count_buckets(
        self, source: TripleSource, digits: int, at_most: int | None = None
    ) -> BucketTable:
        """The buckets of a source, and all its triples, in one answer."""
        where = self._pattern(source)
        if at_most is not None:
            where = queries.load("_pattern_some").pattern(where=where, most=at_most)
        query = queries.load(f"_bucket_{self.capabilities.buckets}")
        text = query.bind(where=where, digits=digits)
        with self._named_errors():
            return self._transport.query(text, _CSV, bucket_table)

    # -- large answers -----------------------------------------------------------------------------

    def scan(self, source: TripleSource, receive: Receive, *, careful: bool = False) -> None:
        """Push the triples of a source: in one answer, or in parts."""
        self._scan(self._pattern(source), receive, careful=careful)

    def scan_difference(self, source: TripleSource, base: TripleSource, receive: Receive) -> None:
        """Push the triples of a source that the base lacks."""
        self._scan(self._difference(source, base), receive)

    def scan_moving(
        self, source: TripleSource, receive: Receive, *, careful: bool = False, parts: bool = False
    ) -> None:
        """Push the triples of a source that others may change meanwhile."""
        where = self._pattern(source)
        with self._named_errors():
            most = self._max_rows
            if not parts and (most is None or self._count(where) < most):
                try:
                    self._push_counted(where, receive, careful=careful)
                except RowLimitError as error:
                    most = self._note_limit(error.limit)
                else:
                    return
            total, came = self._count(where), 0
            limit = most * 9 // 10 if most else total  # parts may grow before they are read
            size = min(max(_MOVING_LEAST, total // _MOVING_PARTS), _MOVING_MOST, max(1, limit))
            largest = min(limit, size * _MOVING_LARGER)
            for part in parts_of(self._counts, where, total, size, largest=largest, moving=True):
                for batch in self._moving_part(part, careful):
                    came += batch.num_rows
                    receive(batch)
            after = self._count(where)
            if abs(came - after) > abs(after - total) + after // 100 + _MOVING_LEAST:
                raise IncompleteError(
                    f"{came:,} triples came in parts, where there were {total:,}, then {after:,}"
                )

    def _moving_part(self, part: Part, careful: bool) -> list[TripleBatch]:
        """One part, without naming terms if the endpoint refuses to have them named."""
        try:
            return self._at_rest(part, careful)
        except PermanentStoreError:
            if part.otherwise is None:
                raise
        return self._moving_part(part.otherwise, careful)

    def _at_rest(self, part: Part, careful: bool) -> list[TripleBatch]:
        """One part, read again until it held still for as long as that takes."""
        last = TransientStoreError("it was not asked for")
        for _ in range(_MOVING_TRIES):
            batches: list[TripleBatch] = []
            try:
                self._push_counted(part.where, batches.append, careful=careful)
            except TransientStoreError as error:
                if error.retry_after:
                    raise
                last = error
            else:
                return batches
        raise last

    def scan_buckets(self, source: TripleSource, buckets: dict[str, int], receive: Receive) -> None:
        """Push the edges of some buckets, in as few answers as the limit on rows allows."""
        most = self._max_rows or sum(buckets.values()) + 1
        with self._named_errors():
            for names, _ in packed(buckets.items(), max(1, most * 9 // 10), len(buckets)):
                where = queries.load("_pattern_buckets").pattern(
                    where=self._pattern(source),
                    digits=len(names[0]),
                    buckets="".join(f"{name} " for name in names),
                )
                self._push_counted(where, receive, careful=False)

    def _push_counted(self, where: Pattern, receive: Receive, *, careful: bool) -> None:
        """Pass on the triples of one answer that also says how many they are."""
        counting = CountedAnswer(receive)
        counted = queries.load("_pattern_counted").pattern(where=where, mark=counting.mark)
        came = self._push(counted, counting.receive, careful=careful)
        try:
            counting.check()
        except IncompleteError:
            if counting.looks_cut:
                self._suspect(came)
            raise

    def _scan(self, where: Pattern, receive: Receive, *, careful: bool = False) -> None:
        with self._named_errors():
            self._scan_counted(where, receive, careful)

    def _scan_counted(self, where: Pattern, receive: Receive, careful: bool) -> None:
        total = self._count(where)
        most = self._max_rows
        if most is None or total <= most:
            try:
                came = self._push(where, receive, careful=careful)
            except RowLimitError as error:
                most = self._note_limit(error.limit)
            else:
                if came < total:
                    self._suspect(came)
                    raise TransientStoreError(f"{self.label} sent {came:,} of {total:,} triples")
                return
        with KeptParts(self._workspace, where, total) as kept:
            try:
                for part in parts_of(self._counts, where, total, most):
                    for batch in self._batches(part, kept, careful):
                        receive(batch)
            except TransientStoreError:
                with suppress(StoreError):
                    self._look_for_lower_limit(where, min(total, most))
                raise

    def _batches(self, part: Part, kept: KeptParts, careful: bool) -> list[TripleBatch]:
        """One part, without naming terms if the endpoint refuses to have them named."""
        try:
            return self._kept(part, kept) or self._fetched(part, kept, careful)
        except PermanentStoreError:
            if part.otherwise is None:
                raise
        return self._batches(part.otherwise, kept, careful)

    def _kept(self, part: Part, kept: KeptParts) -> list[TripleBatch]:
        """One part as it was fetched before, if the endpoint still has it like that."""
        batches = kept.batches(part)
        if not batches or not self._known.hashes:
            return []
        digits = 3 if part.count > 16**3 else 2 if part.count > 16**2 else 1
        query = queries.load("_count_buckets").bind(where=part.where, digits=digits)
        return batches if self._counts(query) == bucket_counts(batches, digits) else []

    def _fetched(self, part: Part, kept: KeptParts, careful: bool) -> list[TripleBatch]:
        """One part, complete."""

        def fetch() -> list[TripleBatch]:
            batches: list[TripleBatch] = []
            came = self._push(part.where, batches.append, careful=careful)
            if came != part.count:
                raise TransientStoreError(
                    f"{self.label} sent {came:,} triples of a part that has {part.count:,}"
                )
            return batches

        try:
            batches = fetch()
        except TransientStoreError:
            batches = fetch()
        kept.keep(part, batches)
        return batches

    def _push(self, where: Pattern, receive: Receive, *, careful: bool) -> int:
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

    # -- writing -----------------------------------------------------------------------------------

    def insert(self, graph: str, ntriples: str) -> None:
        """Add N-Triples to a named graph, at most a thousand at a time."""
        # splitlines() would also cut where a literal has another kind of line break.
        lines = [line for line in ntriples.split("\n") if line.strip()]
        longest = max(map(len, lines), default=1)
        step = max(1, min(_INSERTED, _INSERTED_LENGTH // longest))
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
            raise PermanentStoreError(f"{self.label} cannot be written; set `update_url`")
        self._transport.update(text)

    def close(self) -> None:
        """Nothing is kept open."""

    # -- what is known -----------------------------------------------------------------------------

    def describe(self) -> str:
        """What the server calls itself."""
        return self._known.server.strip() or "a SPARQL endpoint"

    def find_limit(self, source: TripleSource) -> int | None:
        """How many rows an answer may have, as far as a graph can show it."""
        if self._max_rows is None:
            where = self._pattern(source)
            self._look_for_lower_limit(where, min(self._count(where), _PROBED))
        return self._max_rows

    def _expects(self, server: str) -> bool:
        """Whether this is about a server; if not, it is forgotten for the next one who opens it."""
        if not self._known.is_about(server) and self._workspace is not None:
            Known.forget(self._workspace)
        return self._known.is_about(server)

    @property
    def _max_rows(self) -> int | None:
        """How many rows an answer may have, as far as anybody knows."""
        limits = [self._endpoint.max_rows, self._known.max_rows]
        return min((limit for limit in limits if limit), default=None)

    def _look_for_lower_limit(self, where: Pattern, rows: int) -> None:
        """Ask for as many rows as there are or should come, and see whether fewer do."""
        some = queries.load("_pattern_some").pattern(where=where, most=rows)
        came = self._push(some, _ignore, careful=False)
        if _LEAST_LIMIT <= came < rows:
            self._remember(replace(self._known, suspected=None, max_rows=came - 1))

    def _note_limit(self, rows: int) -> int:
        """Stay clear of the number of rows beyond which a server cannot answer."""
        most = max(1, rows * 9 // 10)
        self._remember(replace(self._known, suspected=None, max_rows=most))
        return most

    def _suspect(self, came: int) -> None:
        """Take a short answer for the endpoint's limit if it is as short the second time."""
        if came < _LEAST_LIMIT:
            return
        if self._known.suspected == came:
            # Virtuoso sends one triple more than its limit on rows.
            self._remember(replace(self._known, suspected=None, max_rows=came - 1))
        else:
            self._remember(replace(self._known, suspected=came))

    def _probe(self) -> Known:
        rows = self.select(queries.load("_can_hash").bind())
        if [len(row) for row in rows] != [2]:
            raise TransientStoreError(f"{self.label} sent {len(rows)} rows where there is one")
        found = Known.of(self._transport.server, *rows[0])
        self._remember(found)
        return found

    def _remember(self, known: Known) -> None:
        self._known = known
        if self._workspace is not None:
            known.save(self._workspace)

    def _names(self, query: str) -> list[str]:
        rows = self.select(queries.load(query).bind())
        return [row[0].value for row in rows if row[0] is not None and row[0].kind == "iri"]

    def _count(self, where: Pattern) -> int:
        with self._named_errors():
            return only_count(self._counts(queries.load("_count").bind(where=where)))

    def _counts(self, query: str) -> dict[str, int]:
        """Names and counts, as CSV: for JSON Virtuoso takes ten times as long."""
        return self._transport.query(query, _CSV, named_counts)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Says whose error it is, where that is not known."""
        try:
            yield
        except StoreError as error:
            if self.label in str(error):
                raise
            raise type(error)(f"{self.label}: {error}") from error

    def _pattern(self, source: TripleSource) -> Pattern:
        return source.pattern(union=self.capabilities.union_default_graph)

    def _difference(self, source: TripleSource, base: TripleSource) -> Pattern:
        return source.difference(base, union=self.capabilities.union_default_graph)


def _batched(names: list[str], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(names), size):
        yield tuple(names[start : start + size])


def _ignore(batch: TripleBatch) -> None:
    """Only how many came matters."""


def _push_statements(answer: Answer, receive: Receive) -> None:
    sink = NTriplesSink(receive)
    for piece in answer.pieces():
        sink.write(piece)
    sink.finish()


def _push_terms(answer: Answer, receive: Receive) -> None:
    push_rows(((s, p, o) for s, p, o, _ in rows_of_xml(answer.pieces())), receive)
