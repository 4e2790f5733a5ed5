"""Queries on the published embeddings, by name or text, with functions over vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsync import queries
from kgsync.errors import ConfigError, MalformedQueryError, StateError
from kgsync.graph.port import FunctionRegistry, FunctionTranslator, GraphReader, QueryReader
from kgsync.graph.stores import adapter_class
from kgsync.graph.table import Table
from kgsync.publish.literals.content import is_writable
from kgsync.publish.target import PublishTarget
from kgsync.queries import Filled, Query, is_open
from kgsync.queries.calls import functions_called
from kgsync.vectors.functions import FUNCTIONS, Functions
from kgsync.vectors.query_checks import check_graphs, check_literals, check_metadata

if TYPE_CHECKING:
    from kgsync.vectors.functions import Vectors
    from kgsync.vectors.reader import Reader

__all__ = ["SparqlFunctions", "find_query", "rdflib_functions", "run_query", "sparql_functions"]

_OF_A_TEXT = "of this text"
"""Name of a query that is given as a text."""
_NAME = re.compile(r"[\w-]+")
_OF_A_VERSION = {"at", "current", "entities", "previous", "source"}
"""Filled-in values that depend on the chosen version."""


class SparqlFunctions(dict[Any, Callable[..., Any]]):
    """What `pyoxigraph.Store.query` takes as `custom_functions`.

    pyoxigraph treats an error inside a function as "unbound": call `check` once the result has
    been read completely.
    """

    def __init__(self, functions: Functions) -> None:
        """Translate the functions for pyoxigraph."""
        adapter: FunctionTranslator = adapter_class("pyoxigraph.Store")
        super().__init__(adapter.custom_functions(functions.by_iri))
        self._functions = functions

    def check(self) -> None:
        """Raise the first error of a function since the last check.

        Raises:
            QueryError: A vector was malformed, two differed in length, or a version is not there.
        """
        self._functions.check()


def sparql_functions(
    embeddings: Reader | Vectors, *, version: int | None = None
) -> SparqlFunctions:
    """The functions over vectors for a `pyoxigraph.Store` of one's own.

    Args:
        embeddings: A sync, or what `sync.at()` or `kgsync.load()` gives.
        version: The version behind IRIs, `kge:vector` and `kge:score`; of a sync the one that is
            current when a function is first called.

    Returns:
        A dictionary to be given as `custom_functions`.
    """
    return SparqlFunctions(_functions(embeddings, version))


@contextmanager
def rdflib_functions(embeddings: Reader | Vectors, *, version: int | None = None) -> Iterator[None]:
    """The functions over vectors, known to rdflib while the block runs.

    rdflib computes rows lazily: read the complete result inside the block.

    Args:
        embeddings: A sync, or what `sync.at()` or `kgsync.load()` gives.
        version: As for `sparql_functions`.

    Raises:
        QueryError: At the end of the block, if a function was called with invalid arguments.
    """
    adapter: FunctionRegistry = adapter_class("rdflib.Graph")
    functions = _functions(embeddings, version)
    with adapter.registered(functions.by_iri):
        yield
    functions.check()


def find_query(query: str | Path) -> Query:
    """A query of the library by its name, or the one that a text or a file is.

    Raises:
        ConfigError: There is no such query, or the file cannot be read.
    """
    if isinstance(query, Path):
        try:
            return queries.parse(query.name, query.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the query {query}: {error}") from None
    if not _NAME.fullmatch(query):
        return queries.parse(_OF_A_TEXT, query)
    name = query.replace("-", "_")
    if name not in queries.available():
        known = ", ".join(queries.available())
        raise ConfigError(f"there is no query named {query!r}; known: {known}")
    return queries.load(name)


def run_query(
    sync: Reader,
    target: Callable[[], PublishTarget],
    query: Query,
    given: Mapping[str, object],
    at: int | None = None,
) -> Table:
    """Run a query where the metadata of a sync is published.

    Args:
        sync: The sync.
        target: Where it publishes.
        query: The query.
        given: Values of its parameters, as people write them.
        at: The version that is meant: that of `?at` and `?current`, and behind functions of IRIs.

    Raises:
        ConfigError: A parameter or the query is wrong, the store cannot run it or lacks what it is
            about, or no version can be meant in it.
        QueryError: A function was called with invalid arguments.
        StateError: There is no such version.
        StoreError: The store failed.
    """
    if not sync.state.exists:
        raise StateError(f"there is no embedding in {sync.state.path} yet; run `kgsync step` first")
    publish = target()
    known = _known(sync, publish, at)
    if any(p.known_as == "entities" and p.name not in given for p in query.parameters.values()):
        known["entities"] = _entities(sync, at)
    text = query.bind_given(given, known)
    if at is not None:
        _check_dependence(query, given, text)
    functions = _functions(sync, at)
    with publish.reading() as store:
        if not isinstance(store, QueryReader):
            raise ConfigError(f"{store.label} cannot run queries: its adapter lacks `query`")
        check_graphs(store, query, given, known, lambda: sync.store)
        texts = _for_every_sync(store, query, given, known) or [text]
        try:
            tables = [store.query(one, functions.by_iri) for one in texts]
        except MalformedQueryError as error:
            raise ConfigError(_mistake(query, texts[0], error)) from error
        functions.check()
        table = Table(tables[0].columns, [row for part in tables for row in part.rows])
        if not table.rows:
            check_metadata(store, query, given, known)
            check_literals(store, query, given, known)
    return table


def _for_every_sync(
    store: GraphReader, query: Query, given: Mapping[str, object], known: Mapping[str, Filled]
) -> list[str]:
    """The query for one metadata graph after the other, if it is to be asked about all.

    Some stores answer wrongly where a graph is a variable: their paths then miss versions.
    """
    about = [p.name for p in query.parameters.values() if p.known_as == "metadata"]
    about = [name for name in about if is_open(given.get(name))]
    if not about:
        return []
    found = store.select(queries.load("_metadata_graphs").bind())
    graphs = sorted(row[0].value for row in found if row[0] is not None)
    return [query.bind_given({**given, **dict.fromkeys(about, graph)}, known) for graph in graphs]


def _check_dependence(query: Query, given: Mapping[str, object], text: str) -> None:
    """Refuse a version for a query that does not depend on it."""
    about = [p.name for p in query.parameters.values() if p.known_as in _OF_A_VERSION]
    if set(about) - given.keys():
        return
    called = functions_called(text)
    if called is None or called & set(FUNCTIONS):
        return
    told = " or ".join(f"${name}" for name in about)
    reason = f"{told} says so already" if about else "its answer is the same for every version"
    raise ConfigError(f"query {query.name}: `at` (`--at`) cannot name the version: {reason}")


def _mistake(query: Query, text: str, error: MalformedQueryError) -> str:
    """Where a query is wrong; its own lines are only known if nothing was filled in.

    Args:
        query: The query.
        text: What the store was given.
        error: What the store said.
    """
    what = "the query" if query.name == _OF_A_TEXT else f"the query {query.name}"
    told = f"syntax error in {what}"
    if not error.line:
        return f"{told}: {error}"
    own, sent = query.text.rstrip(), text.rstrip()
    if own.endswith(sent):
        line = error.line + own.count("\n") - sent.count("\n")
        return f"{told}, line {line}, column {error.column}"
    return told


def _entities(sync: Reader, at: int | None) -> list[str]:
    """All entities of a version whose IRIs are valid in SPARQL."""
    return list(filter(is_writable, sync.at(at).iris("entity").to_pylist()))


def _known(sync: Reader, publish: PublishTarget, at: int | None) -> dict[str, Filled]:
    """The values that kgsync fills in."""
    if at is not None:
        sync.at(at)  # a version whose files are gone is an error even if no function is called
    folder = sync.state.current() if at is None else sync.state.version(at)
    known: dict[str, Filled] = {
        "metadata": publish.graph,
        "at": None if at is None else str(at),
    }
    if folder is not None:
        manifest = folder.manifest
        known["current"] = str(manifest.version)
        if manifest.previous is not None:
            known["previous"] = str(manifest.previous)
        if manifest.graph_version["graph"] is not None:
            known["source"] = str(manifest.graph_version["graph"])
    return known


def _functions(embeddings: Any, version: int | None) -> Functions:
    at = getattr(embeddings, "at", None)
    if at is not None:
        return Functions(lambda asked: at(version if asked is None else asked))
    only = embeddings.version
    if version not in (None, only):
        raise StateError(f"these are the vectors of version {only}, not of {version}")

    def the_only(asked: int | None) -> Vectors:
        if asked not in (None, only):
            raise StateError(f"these are the vectors of version {only}, not of {asked}")
        given: Vectors = embeddings
        return given

    return Functions(the_only)
