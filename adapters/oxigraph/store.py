"""The embedded Oxigraph store: a directory on disk, or a `pyoxigraph.Store` of this process."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyoxigraph as ox

from kgsync import queries
from kgsync.adapters.columns import TsvSink, push_rows
from kgsync.adapters.oxigraph.compact import bytes_on_disk, compact, finish_interrupted
from kgsync.adapters.oxigraph.terms import custom_functions, full_term, small_term, term_text
from kgsync.errors import (
    ConfigError,
    KgsyncError,
    MalformedQueryError,
    PermanentStoreError,
    TransientStoreError,
)
from kgsync.graph.port import Function, Receive, StoreCapabilities, Term, TripleSource
from kgsync.graph.table import Table
from kgsync.queries import Pattern

__all__ = ["OxigraphStore"]

_BULK_BYTES = 1 << 20


class OxigraphStore:
    """Reads and writes one embedded store; see `kgsync.graph.port` for the contract."""

    def __init__(self, store: ox.Store, label: str, *, owned: bool, writable: bool = True) -> None:
        """Wrap an open store.

        Args:
            store: The store.
            label: Its name in messages.
            owned: Whether `close` may release it.
            writable: Whether it may be written.
        """
        self.capabilities = StoreCapabilities(
            writable=writable,
            named_graphs=True,
            complete_answers=True,
            moving=True,
        )
        self._store: ox.Store | None = store
        self._owned = owned
        self.label = label

    @classmethod
    def open(
        cls, target: str | Path | ox.Store, *, create: bool = False, workspace: Path | None = None
    ) -> OxigraphStore:
        """Open a directory, or wrap an existing store.

        Raises:
            StoreError: There is no store in the directory, or another process has it open.
        """
        if isinstance(target, ox.Store):
            return cls(target, "the given Oxigraph store", owned=False, writable=_writable(target))
        path = Path(target)
        try:
            finish_interrupted(path)
            there = _is_store(path)
        except OSError as error:
            raise PermanentStoreError(
                f"cannot open the Oxigraph store at {path}: {error.strerror}"
            ) from error
        # pyoxigraph would create an empty store at a mistyped path.
        if not create and not there:
            raise PermanentStoreError(f"there is no Oxigraph store at {path}; check the path")
        try:
            return cls(ox.Store(str(path)), str(path), owned=True)
        except RuntimeError as error:
            raise PermanentStoreError(
                f"the Oxigraph store at {path} is damaged: {error}"
            ) from error
        except OSError as error:
            reason = _why_not_opened(error)
            if reason == "no rights":
                if not there:
                    raise PermanentStoreError(
                        f"cannot create an Oxigraph store at {path}: the folder is not writable"
                    ) from error
                return cls._open_read_only(path)
            if reason == "locked":
                raise TransientStoreError(
                    f"the Oxigraph store at {path} is open in another process, and only one "
                    "can open it at a time; try again when that process is done"
                ) from error
            raise PermanentStoreError(
                f"cannot open the Oxigraph store at {path}: {error}"
            ) from error

    @classmethod
    def _open_read_only(cls, path: Path) -> OxigraphStore:
        try:
            return cls(ox.Store.read_only(str(path)), str(path), owned=True, writable=False)
        except OSError as error:
            raise PermanentStoreError(
                f"cannot read the Oxigraph store at {path}: {error}"
            ) from error

    def graphs(self) -> list[str]:
        """IRIs of the named graphs that hold triples."""
        with self._errors() as store:
            named = [
                g.value
                for g in store.named_graphs()
                if isinstance(g, ox.NamedNode)
                and next(store.quads_for_pattern(None, None, None, g), None) is not None
            ]
        return sorted(named)

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a small SELECT."""
        with self._errors() as store:
            found: Any = None
            try:
                found = _solutions(store, query)
                return [tuple(small_term(value) for value in row) for row in found]
            finally:
                # As below.
                del store, found

    def query(self, text: str, functions: Mapping[str, Function]) -> Table:
        """The complete result of a SELECT or an ASK."""
        with self._errors() as store:
            found: Any = None
            try:
                found = store.query(text, custom_functions=custom_functions(functions))
                if isinstance(found, ox.QueryBoolean):
                    return Table(("answer",), [(full_term(ox.Literal(bool(found))),)])
                if not isinstance(found, ox.QuerySolutions):
                    raise ConfigError("only SELECT and ASK queries are supported here")
                columns = tuple(variable.value for variable in found.variables)
                return Table(columns, [tuple(full_term(value) for value in row) for row in found])
            finally:
                # A stored traceback, as in a notebook, would keep the store locked.
                del store, found

    def count(self, source: TripleSource) -> int:
        """Number of triples of a source."""
        return self._count(source.pattern(union=False))

    def scan(self, source: TripleSource, receive: Receive, *, careful: bool = False) -> None:
        """Push the triples of a source."""
        self._push(source.pattern(union=False), receive, careful=careful)

    def scan_moving(
        self, source: TripleSource, receive: Receive, *, careful: bool = False, parts: bool = False
    ) -> None:
        """Push the triples of a source; a query sees one state of the store, and is complete."""
        self.scan(source, receive, careful=careful)

    def insert(self, graph: str, ntriples: str) -> None:
        """Add N-Triples to a named graph, also with IRIs that are not valid.

        A large text goes through the bulk loader, which takes a fraction of the time; if that
        fails, a part of the text may be in the graph.
        """
        data = ntriples.encode()
        with self._errors() as store:
            load = store.bulk_load if len(data) >= _BULK_BYTES else store.load
            node = ox.NamedNode(graph)
            load(data, format=ox.RdfFormat.N_TRIPLES, to_graph=node, lenient=True)
            store.flush()

    def update(self, text: str) -> None:
        """Run one SPARQL update."""
        # Not flushed: its log keeps the update when the process is killed, and each flush makes a
        # file that is merged, again and again, with all that the store holds.
        with self._errors() as store:
            store.update(text)

    @staticmethod
    def custom_functions(functions: Mapping[str, Function]) -> dict[Any, Callable[..., Any]]:
        """Functions over our terms as `pyoxigraph.Store.query` takes them."""
        return dict(custom_functions(functions))

    def flush(self) -> None:
        """Write everything to disk."""
        with self._errors() as store:
            store.flush()

    def compact(self) -> tuple[int, int]:
        """Rewrite the directory to free disk space; this closes the store."""
        if not self._owned:
            raise ConfigError(
                f"{self.label} cannot be compacted: only an embedded store on disk can"
            )
        path = Path(self.label)
        before = bytes_on_disk(path)
        with self._errors():
            self.close()
            compact(path)
        return before, bytes_on_disk(path)

    def close(self) -> None:
        """Release the directory."""
        if self._owned:
            self._store = None

    def _count(self, where: Pattern) -> int:
        query = queries.load("_count").bind(where=where)
        with self._errors() as store:
            return int(next(iter(_solutions(store, query)))[0].value)

    def _push(self, where: Pattern, receive: Receive, *, careful: bool = False) -> None:
        """Push triples: as TSV whose rows end with a mark, or term by term if `careful`."""
        mark = secrets.token_hex(4)
        query = queries.load("_triples").bind(where=where, mark=mark)
        with self._errors() as store:
            solutions: Any = store.query(query)
            try:
                if careful:
                    # A raw tab or line break inside an IRI breaks TSV; term objects are immune.
                    push_rows(
                        ((term_text(s), term_text(p), term_text(o)) for s, p, o, _ in solutions),
                        receive,
                    )
                    return
                # isIRI() in the query would decode every term a second time: twice the time.
                with ThreadPoolExecutor(1) as pool:
                    sink = TsvSink(receive, mark, pool)
                    solutions.serialize(sink, format=ox.QueryResultsFormat.TSV)
                    sink.finish()
            finally:
                # A traceback would carry them to another thread, where they cannot be freed.
                del solutions

    @contextmanager
    def _errors(self) -> Iterator[ox.Store]:
        if self._store is None:
            raise PermanentStoreError(f"the store at {self.label} has been closed")
        try:
            yield self._store
        except KgsyncError:
            raise
        except SyntaxError as error:
            raise self._malformed(error) from error  # no local variable may keep it, and the store
        except (OSError, RuntimeError, ValueError) as error:
            raise PermanentStoreError(f"{self.label}: {error}") from error

    def _malformed(self, error: SyntaxError) -> MalformedQueryError:
        malformed = MalformedQueryError(f"{self.label}: {error}")
        malformed.line, malformed.column = _place(error)
        return malformed


def _is_store(path: Path) -> bool:
    """Whether a store exists at the path; raises OSError if that cannot be determined."""
    try:
        (path / "CURRENT").stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _place(error: SyntaxError) -> tuple[int, int]:
    """Line and column of a mistake, which pyoxigraph tells in the text of the error only."""
    found = re.search(r"\bat (\d+):(\d+)\b", str(error))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _why_not_opened(error: OSError) -> Literal["no rights", "locked", "other"]:
    """Why a directory could not be opened.

    pyoxigraph passes on RocksDB's message in an OSError without a number or a type of its own, so
    its text is all there is. This is the only place that looks at it.
    """
    said = str(error)
    if "Permission denied" in said or "Read-only file system" in said:
        return "no rights"
    return "locked" if "LOCK: " in said else "other"


def _writable(store: ox.Store) -> bool:
    try:
        store.update(queries.load("_nothing").bind())
    except (OSError, RuntimeError, ValueError):
        return False
    return True


def _solutions(store: ox.Store, query: str) -> Any:
    return store.query(query)
