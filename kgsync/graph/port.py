"""The interface to RDF stores that every adapter implements.

Triples cross the port in columns. A `TripleBatch` is an Arrow record batch with the columns `s`,
`p`, `o`, each dictionary-encoded text in N-Triples form: `<iri>` unescaped, `_:blank`, or anything
else for a literal. Small results cross it as rows of `Term`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from kgsync import queries
from kgsync.common.rdf_terms import KGE
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.graph.table import Table

__all__ = [
    "OUTPUT_GRAPH",
    "BucketReader",
    "BucketTable",
    "ChangeReader",
    "CompactStore",
    "DatedReader",
    "DifferenceReader",
    "FlushingStore",
    "Function",
    "FunctionRegistry",
    "FunctionTranslator",
    "GraphReader",
    "GraphStore",
    "GraphWriter",
    "Marks",
    "MovingReader",
    "QueryReader",
    "Receive",
    "ReceiveChange",
    "StampedReader",
    "StoreCapabilities",
    "Term",
    "TripleBatch",
    "TripleSource",
]

TripleBatch: TypeAlias = Any  # pyarrow.RecordBatch; pyarrow ships no types
Receive: TypeAlias = Callable[[TripleBatch], None]
ReceiveChange: TypeAlias = Callable[[Literal["clear", "remove", "add"], TripleBatch | None], None]

Marks: TypeAlias = Literal["sums", "ends"]
"""What a store can say about the hashes in a bucket: their sum, or the smallest and the largest."""

OUTPUT_GRAPH = f"{KGE}OutputGraph"


class Term(NamedTuple):
    """One RDF term of a small result.

    Datatype and language are those of a literal where the method says that it gives them.
    """

    kind: Literal["iri", "literal", "blank"]
    value: str
    datatype: str | None = None
    language: str | None = None


Function: TypeAlias = Callable[..., Term | None]
"""A SPARQL function over terms with their datatypes; None is unbound."""


@dataclass(frozen=True)
class StoreCapabilities:
    """What a store can do. Using a missing capability is an error of the caller."""

    writable: bool
    """`insert` and `update` work."""
    named_graphs: bool
    """The store has named graphs, so versions and published metadata can live in it."""
    difference: bool = False
    """The store is a `DifferenceReader`: it compares two versions by itself."""
    checksums: Literal["none", "ascii", "all"] = "none"
    """For which IRIs the checksums of a `DifferenceReader` follow the standard."""
    union_default_graph: bool = False
    """The default graph shows the triples of all named graphs."""
    complete_answers: bool = False
    """A result that ends without an error is complete; nothing can truncate it."""
    shared: bool = False
    """Others may be loading a version while it is read."""
    moving: bool = False
    """The store is a `MovingReader`: it can be read while others change it."""
    buckets: Marks | None = None
    """The store is a `BucketReader`, with such marks: it counts and sends edges by their hash."""
    changes: bool = False
    """The store is a `ChangeReader`: it stores the changes between versions."""


@dataclass(frozen=True)
class TripleSource:
    """Where the triples of one version are found."""

    graph: str | None
    """Named graph, or None for the default graph."""
    scope: str | None = None
    """Text of a user's query that selects ?s ?p ?o from the version."""

    def pattern(self, *, union: bool) -> queries.Pattern:
        """The group graph pattern that binds ?s ?p ?o, the same for fetch, count and difference."""
        if self.scope is not None:
            if self.graph is None and union:
                raise ConfigError(
                    "a scope cannot exclude kgsync's own graphs from a union default graph; "
                    "set `graphs` to a named graph and use GRAPH $graph in the scope"
                )
            return queries.scope_pattern("the scope", self.scope, self.graph)
        if self.graph is not None:
            return queries.load("_pattern_named_graph").pattern(graph=self.graph)
        if union:
            return queries.load("_pattern_union_graph").pattern(marker=OUTPUT_GRAPH)
        return queries.load("_pattern_default_graph").pattern()

    def difference(self, base: TripleSource, *, union: bool) -> queries.Pattern:
        """The pattern of the triples that `base` lacks."""
        where, minus = self.pattern(union=union), base.pattern(union=union)
        return queries.load("_pattern_difference").pattern(where=where, base=minus)


@runtime_checkable
class GraphReader(Protocol):
    """Reading. Every method raises `StoreError`: transient if a later call may succeed."""

    @property
    def label(self) -> str:
        """How to name the store in messages; never holds credentials."""

    @property
    def capabilities(self) -> StoreCapabilities:
        """What the store can do; the same for the life of the object."""

    def graphs(self) -> list[str]:
        """IRIs of the named graphs, sorted, output graphs of kgsync included."""

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a SELECT with a small result, in the order of its projection."""

    def count(self, source: TripleSource) -> int:
        """Number of distinct triples of the source, literals included."""

    def scan(self, source: TripleSource, receive: Receive, *, careful: bool = False) -> None:
        """Push every triple of the source once, in any order, as batches into `receive`.

        The caller checks against `count` whether the result was complete. `careful` selects the
        slowest, safest method: it is set when a first result did not add up, as with line breaks
        inside IRIs.
        """

    def close(self) -> None:
        """Release the store. Closing twice is allowed; an object the user passed in stays open."""


@runtime_checkable
class DatedReader(GraphReader, Protocol):
    """A reader that knows when a version was last touched, as files do."""

    def touched(self, source: TripleSource) -> float:
        """The time of the last change of what a version is made of, in seconds since 1970."""


@runtime_checkable
class StampedReader(GraphReader, Protocol):
    """A reader that can tell whether what a version is made of was rewritten, as files can be."""

    def stamps(self, source: TripleSource) -> dict[str, str]:
        """For every file of a version something cheap that changes when it is rewritten.

        Keyed by the file's path relative to the store. Empty for what is expected to change in
        place, and for a version that is not there.
        """

    def distrust(self, source: TripleSource) -> None:
        """Offer no changes from this version any more: its files have changed since it was read."""


@runtime_checkable
class DifferenceReader(GraphReader, Protocol):
    """Comparing two versions in the store. Only where `capabilities.difference` is true."""

    def scan_difference(self, source: TripleSource, base: TripleSource, receive: Receive) -> None:
        """Push every triple of `source` that `base` lacks, as `scan` does."""

    def count_difference(self, source: TripleSource, base: TripleSource) -> int:
        """Number of triples that `scan_difference` has to push."""

    def checksum(self, source: TripleSource) -> tuple[int, int]:
        """Number of edges, and the sum of the numbers in their hashes.

        See `kgsync.source.buckets`. Only called where `capabilities.checksums` says that the store
        hashes such IRIs as the standard says.
        """


@runtime_checkable
class MovingReader(GraphReader, Protocol):
    """Reading a graph that others change concurrently. Only if `capabilities.moving` is true."""

    def scan_moving(
        self, source: TripleSource, receive: Receive, *, careful: bool = False, parts: bool = False
    ) -> None:
        """Push every triple that was there throughout, once, and none that was never there.

        Every response is checked against a count in the same response.

        Args:
            source: What to read.
            receive: Takes the batches. If this fails, the pushed triples must be discarded.
            careful: As for `scan`.
            parts: In small parts, each of which has to be complete by itself: for a store whose
                answers mix several moments.

        Raises:
            TransientStoreError: A response was not complete, or the graph changes too fast.
        """


@dataclass(frozen=True)
class BucketTable:
    """What a store says about the buckets of a graph; see `kgsync.source.buckets`."""

    triples: int
    """Number of all triples, including those that are not edges between IRIs."""
    buckets: dict[str, tuple[int, str]]
    """Name of every bucket that has edges -> how many, and their mark."""


@runtime_checkable
class BucketReader(GraphReader, Protocol):
    """Reading parts of a graph that changes in place. Only where `capabilities.buckets` is set."""

    def count_buckets(
        self, source: TripleSource, digits: int, at_most: int | None = None
    ) -> BucketTable:
        """The buckets by so many digits of the hash, from one moment.

        Args:
            source: The graph.
            digits: How many.
            at_most: Of so many triples only, any of them: to see how long it takes.
        """

    def scan_buckets(self, source: TripleSource, buckets: dict[str, int], receive: Receive) -> None:
        """Push the edges of some buckets, as `MovingReader.scan_moving` does.

        Args:
            source: The graph.
            buckets: Their names, and about how many edges each has.
            receive: Takes the batches.
        """


@runtime_checkable
class ChangeReader(GraphReader, Protocol):
    """Reading stored changes. Only if `capabilities.changes` is true."""

    def has_changes(self, source: TripleSource, base: TripleSource) -> bool:
        """Whether every change from `base` to `source` is available."""

    def scan_changes(
        self, source: TripleSource, base: TripleSource, receive: ReceiveChange
    ) -> None:
        """Push the changes that lead from `base` to `source`, to be made in that order.

        A `clear` has no triples: it empties the graph.

        Raises:
            PermanentStoreError: There is a gap in the changes; the message names it.
        """


@runtime_checkable
class QueryReader(Protocol):
    """Running users' queries, with kgsync's functions where the store is in this process."""

    def query(self, text: str, functions: Mapping[str, Function]) -> Table:
        """The complete result of a SELECT or an ASK, with datatypes and languages.

        Args:
            text: The query; ASK is answered by one row, `answer`.
            functions: What it may call, by IRI.

        Raises:
            ConfigError: The store cannot call a function that the query uses, or the query is
                neither a SELECT nor an ASK.
            StoreError: The query is wrong, or the store failed.
        """


@runtime_checkable
class FunctionTranslator(Protocol):
    """An adapter whose library takes functions with each query; asked of the class itself."""

    @staticmethod
    def custom_functions(functions: Mapping[str, Function]) -> dict[Any, Callable[..., Any]]:
        """Functions over our terms, by IRI, as the library takes them."""


@runtime_checkable
class FunctionRegistry(Protocol):
    """An adapter whose library has a registry of functions; asked of the class itself."""

    @staticmethod
    def registered(functions: Mapping[str, Function]) -> AbstractContextManager[None]:
        """Have functions over our terms, by IRI, known to the library while the block runs."""


@runtime_checkable
class FlushingStore(Protocol):
    """A store in this process: a power cut may take back its last updates, in their order."""

    def flush(self) -> None:
        """Write everything to disk.

        Raises:
            StoreError: It failed.
        """


@runtime_checkable
class CompactStore(Protocol):
    """A store whose unused disk space can be freed."""

    def compact(self) -> tuple[int, int]:
        """Free the disk space of deleted triples, and close the store.

        Returns:
            Bytes on disk before and after.

        Raises:
            ConfigError: It is not an embedded store on disk.
            StoreError: It failed; nothing was changed.
        """


@runtime_checkable
class GraphWriter(Protocol):
    """Writing. Only called where `capabilities.writable` is true."""

    def insert(self, graph: str, ntriples: str) -> None:
        """Add N-Triples to a named graph; triples that are already there stay as they are."""

    def update(self, text: str) -> None:
        """Run one SPARQL 1.1 update, atomically where the store can."""


@runtime_checkable
class GraphStore(GraphReader, GraphWriter, Protocol):
    """A store that reads and writes."""
