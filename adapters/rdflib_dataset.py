"""An `rdflib.Dataset` or `rdflib.Graph` of this process, whatever rdflib store is behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyparsing import ParseException
from rdflib import XSD, BNode, ConjunctiveGraph, Dataset, Graph, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function
from rdflib.plugins.sparql.sparql import SPARQLError

from kgsync import queries
from kgsync.adapters.columns import push_rows
from kgsync.errors import ConfigError, KgsyncError, MalformedQueryError, PermanentStoreError
from kgsync.graph.port import Function, Receive, StoreCapabilities, Term, TripleSource
from kgsync.graph.table import Table

__all__ = ["RdflibStore"]


@dataclass(frozen=True, eq=False)
class _Layer:
    """Functions that a block of one thread has registered."""

    thread: int
    functions: Mapping[str, Function]


_LAYERS: list[_Layer] = []
_LOCK = threading.Lock()


class RdflibStore:
    """Reads and writes rdflib objects; see `kgsync.graph.port` for the contract.

    A plain `Graph` has no named graphs: it is the default graph, and nothing is written into it.
    """

    def __init__(self, graph: Graph) -> None:
        """Wrap a dataset or a graph, which stays open."""
        self._graph = graph
        self._dataset = graph if isinstance(graph, Dataset) else None
        self.label = f"the rdflib {type(graph).__name__}"
        self.capabilities = StoreCapabilities(
            writable=self._dataset is not None,
            named_graphs=self._dataset is not None,
            union_default_graph=self._dataset is not None and self._dataset.default_union,
        )

    @classmethod
    def open(
        cls, target: Graph, *, create: bool = False, workspace: Path | None = None
    ) -> RdflibStore:
        """Wrap a dataset or a graph.

        Raises:
            ConfigError: It is a `ConjunctiveGraph`, which hides the graph of a triple.
        """
        if isinstance(target, ConjunctiveGraph) and not isinstance(target, Dataset):
            raise ConfigError("an rdflib ConjunctiveGraph is not supported; use rdflib.Dataset")
        return cls(target)

    def graphs(self) -> list[str]:
        """IRIs of the named graphs that hold triples."""
        if self._dataset is None:
            return []
        with self._errors():
            named = (graph for graph in self._dataset.graphs() if len(graph))
            names = {str(g.identifier) for g in named if isinstance(g.identifier, URIRef)}
        return sorted(names - {str(DATASET_DEFAULT_GRAPH_ID)})

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a small SELECT."""
        with self._errors():
            return [tuple(_term(value) for value in row) for row in self._rows(query)]

    def query(self, text: str, functions: Mapping[str, Function]) -> Table:
        """The complete result of a SELECT or an ASK."""
        with self._errors(), _registered(functions):
            found = self._graph.query(text)
            if found.type == "ASK":
                return Table(("answer",), [(_full_term(Literal(bool(found.askAnswer))),)])
            if found.type != "SELECT":
                raise ConfigError("only SELECT and ASK queries are supported here")
            rows: Any = found
            columns = tuple(str(variable) for variable in found.vars or ())
            return Table(columns, [tuple(_full_term(value) for value in row) for row in rows])

    @staticmethod
    def registered(functions: Mapping[str, Function]) -> AbstractContextManager[None]:
        """Register functions over kgsync terms with rdflib while the block runs."""
        return _registered(functions)

    def count(self, source: TripleSource) -> int:
        """Number of triples of a source."""
        with self._errors():
            plain = self._plain(source)
            if plain is not None:
                return len(plain)
            query = queries.load("_count").bind(where=self._pattern(source))
            return int(next(iter(self._rows(query)))[0])

    def scan(self, source: TripleSource, receive: Receive, *, careful: bool = False) -> None:
        """Push the triples of a source; terms never pass through a wire format here."""
        with self._errors():
            plain: Iterable[Any] | None = self._plain(source)
            if plain is None:
                query = queries.load("_triples").bind(where=self._pattern(source), mark="")
                plain = self._rows(query)
            push_rows(((_text(s), _text(p), _text(o)) for s, p, o, *_ in plain), receive)

    def insert(self, graph: str, ntriples: str) -> None:
        """Add N-Triples to a named graph."""
        with self._errors():
            self._writable().graph(URIRef(graph)).parse(data=ntriples, format="nt")

    def update(self, text: str) -> None:
        """Run one SPARQL update."""
        with self._errors():
            self._writable().update(text)

    def close(self) -> None:
        """Nothing to release: the object is the user's."""

    def _plain(self, source: TripleSource) -> Graph | None:
        """The rdflib graph behind a source, where no query is needed to read it."""
        if source.scope is not None:
            return None
        if self._dataset is None:
            return self._graph
        if source.graph is not None:
            return self._dataset.get_context(URIRef(source.graph))
        return None if self.capabilities.union_default_graph else self._dataset.default_graph

    def _pattern(self, source: TripleSource) -> queries.Pattern:
        return source.pattern(union=self.capabilities.union_default_graph)

    def _rows(self, query: str) -> Any:
        return self._graph.query(query)

    def _writable(self) -> Dataset:
        if self._dataset is None:
            raise PermanentStoreError(f"{self.label} has no named graphs to write into")
        return self._dataset

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except KgsyncError:
            raise
        except ParseException as error:
            malformed = MalformedQueryError(f"{self.label}: {error}")
            malformed.line, malformed.column = error.lineno, error.column
            raise malformed from error
        except Exception as error:  # rdflib and its store plug-ins have no common base exception
            raise PermanentStoreError(f"{self.label}: {error}") from error


@contextmanager
def _registered(functions: Mapping[str, Function]) -> Iterator[None]:
    """Register functions over kgsync terms with rdflib while the block runs.

    Its registry is the process's. So what is registered there finds the functions: those of the
    innermost block of the thread, or else of the latest block of another one.
    """
    layer = _Layer(threading.get_ident(), functions)
    with _LOCK:
        new = [iri for iri in functions if not any(iri in other.functions for other in _LAYERS)]
        done: list[str] = []
        try:
            for iri in new:
                register_custom_function(URIRef(iri), _over_theirs(iri))
                done.append(iri)
        except ValueError:
            for iri in done:
                unregister_custom_function(URIRef(iri))
            raise
        _LAYERS.append(layer)
    try:
        yield
    finally:
        with _LOCK:
            _LAYERS[:] = [other for other in _LAYERS if other is not layer]
            for iri in functions:
                if not any(iri in other.functions for other in _LAYERS):
                    unregister_custom_function(URIRef(iri))


def _over_theirs(iri: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = _innermost(iri)(*map(_full_term, arguments))
        if result is None:
            raise SPARQLError("unbound")
        return _their_term(result)

    return call


def _innermost(iri: str) -> Function:
    with _LOCK:
        layers = [layer for layer in _LAYERS if iri in layer.functions]
    if not layers:
        raise SPARQLError(f"<{iri}> is no longer registered")
    own = [layer for layer in layers if layer.thread == threading.get_ident()]
    return (own or layers)[-1].functions[iri]


def _text(term: Any) -> str:
    if isinstance(term, URIRef):
        # Half a surrogate pair cannot be encoded; "?" would make it valid, a space keeps it out.
        return f"<{term}>" if _encodable(term) else "< >"
    if isinstance(term, BNode):
        return f"_:{term}"
    return '"'  # a literal: only that it is one matters


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _term(value: Any) -> Term | None:
    match value:
        case None:
            return None
        case URIRef():
            return Term("iri", str(value))
        case BNode():
            return Term("blank", str(value))
    return Term("literal", str(value))


def _full_term(value: Any) -> Term | None:
    """A term with the datatype and language of a literal."""
    if not isinstance(value, Literal):
        return _term(value)
    datatype = value.datatype or (None if value.language else XSD.string)
    return Term("literal", str(value), str(datatype) if datatype else None, value.language)


def _their_term(term: Term) -> Any:
    if term.kind != "literal":
        return URIRef(term.value) if term.kind == "iri" else BNode(term.value)
    datatype = URIRef(term.datatype) if term.datatype and not term.language else None
    return Literal(term.value, datatype=datatype, lang=term.language, normalize=False)
