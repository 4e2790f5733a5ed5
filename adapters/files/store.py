"""RDF files as a source: a folder of dumps or of changes, or a single file. Read-only.

    dumps/kg-2024-01.nt.gz, kg-2024-02.nt.gz      every file is a version, in natural order
    nomisma/base.nt.gz, changes/0001.added.nt.gz, 0001.removed.nt.gz, ...
    live/base.nt.gz, 2024/01/31/10/000000.added.nt.gz, ..., lastPublishedFile.txt
    log/base.trig, changes/0001.rdfp, ...         RDF Patch
    graph.nq                                      a data set, whose graphs are as in a store

Dumps and changes are N-Triples, N-Quads, Turtle, TriG, N3, RDF/XML or JSON-LD; everything may be
compressed by gzip, bzip2 or Zstandard. A version's graph is called after its file, without the
folder and the compression, as in `file:kg-2024-01.nt`, or after its change, as in
`file:changes/0001`; so folders can be moved. All triples of a file are in its version, whatever
graph they are in; a history is about one graph. A file whose name is not understood is an error if
it may hold triples; see `kgsync.graph.files.rdf_files`.

Changes are applied in the order of DBpedia Live: `clear` (its triples name subjects of which all
is removed), `removed`, `added`, `reinserted`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from kgsync.adapters.files.layout import Change, FileVersion, Layout, find_layout
from kgsync.adapters.files.parsing import Parsed, parse_file
from kgsync.adapters.files.patch import read_patch
from kgsync.adapters.files.sets import Changes, NetChange, TripleSet
from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.errors import ConfigError, KgsyncError, PermanentStoreError
from kgsync.graph.files.rdf_files import COMPRESSED, DUMPS, rdf_suffix
from kgsync.graph.port import (
    OUTPUT_GRAPH,
    Receive,
    ReceiveChange,
    StoreCapabilities,
    Term,
    TripleBatch,
    TripleSource,
)

__all__ = ["FilesStore"]

_DELETE = "<http://dbpedia.org/delete>"
_NAMED_GRAPHS = (".jsonld", ".nq", ".trig")
_ISSUED = ox.NamedNode("http://purl.org/dc/terms/issued")
_PREVIOUS = ox.NamedNode("http://www.w3.org/ns/dcat#previousVersion")
_START = ox.NamedNode("urn:kgsync:empty-graph")
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_DESCRIBING = {_TYPE, str(_ISSUED), str(_PREVIOUS), "<http://www.w3.org/ns/prov#wasRevisionOf>"}


class FilesStore:
    """Reads RDF files; see `kgsync.graph.port` for the contract.

    There is no SPARQL over them. `select` sees what describes the versions, as a catalogue in the
    default graph: their order, their dates, and of a data set what it says itself.
    """

    def __init__(self, path: Path) -> None:
        """Set the file or folder; nothing is read yet."""
        self.label = str(path)
        self.capabilities = StoreCapabilities(
            writable=False,
            named_graphs=True,
            complete_answers=True,
            changes=path.is_dir(),
        )
        self._path = path
        self._closed = False
        self._layout: Layout | None = None
        self._counts: dict[str | None, tuple[_State, int]] = {}
        self._distrusted: set[str | None] = set()
        self._described: tuple[_State, list[str], ox.Store] | None = None

    @classmethod
    def open(
        cls, target: str | Path, *, create: bool = False, workspace: Path | None = None
    ) -> FilesStore:
        """Open a file or a folder.

        Raises:
            PermanentStoreError: It does not exist, or is not of a supported kind.
        """
        path = Path(target)
        if not path.exists():
            raise PermanentStoreError(f"there is no file {path}; check the path")
        if path.is_file() and rdf_suffix(path) not in DUMPS:
            kinds, packed = ", ".join(DUMPS), ", ".join(COMPRESSED)
            raise PermanentStoreError(
                f"{path} is not a file that kgsync reads ({kinds}, also as {packed}); "
                "patches and changes must be in a folder, and an embedded store is a folder"
            )
        return cls(path)

    def graphs(self) -> list[str]:
        """IRIs of the versions in a folder, or of the named graphs in a data set."""
        with self._errors():
            if not self._path.is_dir():
                return self._description()[0]
            self._layout = find_layout(self._path)
            return sorted(self._layout.versions)

    def select(self, query: str) -> list[tuple[Term | None, ...]]:
        """Rows of a small SELECT over the description of the versions."""
        with self._errors():
            store = self._catalogue() if self._path.is_dir() else self._description()[1]
            return OxigraphStore(store, self.label, owned=False).select(query)

    def count(self, source: TripleSource) -> int:
        """Number of distinct triples of a source; reads them, unless they were just read."""
        with self._errors():
            files = self._files(source)
            state, count = self._counts.get(source.graph, (None, 0))
            if state != _state(files):
                self.scan(source, lambda _: None)
                _, count = self._counts[source.graph]
            return count

    def scan(self, source: TripleSource, receive: Receive, *, careful: bool = False) -> None:
        """Push the triples of a source."""
        with self._errors():
            state, count = _state(self._files(source)), 0
            met = TripleSet()
            for batch in self._batches(source):
                new = met.new(batch)
                if new.num_rows:
                    count += new.num_rows
                    receive(new)
            self._counts[source.graph] = state, count

    def touched(self, source: TripleSource) -> float:
        """When the newest file of a version was last written."""
        with self._errors():
            return max((file.stat().st_mtime for file in self._files(source)), default=0.0)

    def stamps(self, source: TripleSource) -> dict[str, str]:
        """Size and time of every file of a version in a folder; a single file is a live graph."""
        with self._errors():
            if not self._path.is_dir():
                return {}
            return {
                path.relative_to(self._path).as_posix(): f"{size} {time}"
                for path, size, time in _state(self._files(source))
            }

    def distrust(self, source: TripleSource) -> None:
        """Do not use this version as the base of a difference any more."""
        self._distrusted.add(source.graph)

    def has_changes(self, source: TripleSource, base: TripleSource) -> bool:
        """Whether changes lead from one version to the other.

        After a `clear` the earlier version is needed to know what is gone: all is read.
        """
        with self._errors():
            before, after = self._version(base), self._version(source)
            if source.scope is not None or before is None or after is None:
                return False
            if base.graph in self._distrusted:
                return False
            if before.dump != after.dump or before.changes > after.changes:
                return False
            return not any("clear" in c.parts for c in self._folder().between(before, after))

    def scan_changes(
        self, source: TripleSource, base: TripleSource, receive: ReceiveChange
    ) -> None:
        """Push the net effect of the changes: every triple at most once."""
        with self._errors():
            if not self.has_changes(source, base):
                raise PermanentStoreError(
                    f"{self.label} has no changes from <{base.graph}> to <{source.graph}>"
                )
            version = self._version(source)
            assert version is not None
            changes = self._folder().between(self._version(base), version)
            net = _net(changes, _OneGraph())
            for batch in net.removed:
                receive("remove", batch)
            for batch in net.added:
                receive("add", batch)

    def insert(self, graph: str, ntriples: str) -> None:
        """Not supported: files are read-only."""
        with self._errors():
            raise PermanentStoreError(f"{self.label}: files are read-only")

    def update(self, text: str) -> None:
        """Not supported: files are read-only."""
        with self._errors():
            raise PermanentStoreError(f"{self.label}: files are read-only")

    def close(self) -> None:
        """Nothing is held open."""
        self._closed = True

    # -- reading -------------------------------------------------------------------------------

    def _batches(self, source: TripleSource) -> Iterator[TripleBatch]:
        """The triples of a source, possibly with duplicates."""
        if not self._path.is_dir():
            for parsed in parse_file(self._path):
                yield _in_graph(parsed, source.graph)
            return
        version = self._version(source)
        if version is None:
            return
        changes = self._folder().between(None, version)
        check = _OneGraph(len(self._folder().changes) > 0)
        net = _net(changes, check)
        if version.dump is not None:
            for parsed in parse_file(version.dump):
                yield net.untouched(check(version.dump, parsed))
        yield from net.added

    def _folder(self) -> Layout:
        if self._layout is None:
            self._layout = find_layout(self._path)
        return self._layout

    def _version(self, source: TripleSource) -> FileVersion | None:
        return self._folder().versions.get(source.graph or "")

    def _files(self, source: TripleSource) -> list[Path]:
        """The files that a source is read from."""
        if source.scope is not None:
            raise ConfigError(
                f"a scope is a SPARQL query, but {self.label} has no SPARQL engine; "
                "remove the scope, or load the files into a store"
            )
        if not self._path.is_dir():
            return [self._path]
        version = self._version(source)
        if version is None:
            return []
        parts = (c.parts.values() for c in self._folder().between(None, version))
        return [*([version.dump] if version.dump else []), *(p for part in parts for p in part)]

    # -- what describes the versions -----------------------------------------------------------

    def _catalogue(self) -> ox.Store:
        """A folder's versions: each with its date, and after the one before it."""
        store = ox.Store()
        before = _START  # a first version that follows nothing would be a live graph
        for version in self._folder().versions.values():
            node = ox.NamedNode(version.graph)
            if version.issued:
                store.add(ox.Quad(node, _ISSUED, ox.Literal(version.issued)))
            if self._folder().ordered:
                store.add(ox.Quad(node, _PREVIOUS, before))
            before = node
        return store

    def _description(self) -> tuple[list[str], ox.Store]:
        """The named graphs of a data set, and what it says about them."""
        state = _state([self._path])
        if self._described is None or self._described[0] != state:
            graphs: set[str | None] = set()
            lines: list[str] = []
            # Without named graphs there is nothing to describe, and no need to read it all.
            if rdf_suffix(self._path) in _NAMED_GRAPHS:
                for parsed in parse_file(self._path):
                    graphs.update(parsed.graphs or ())
                    lines += _describing(parsed)
            store = ox.Store()
            text = "".join(lines).encode()
            store.load(text, format=ox.RdfFormat.N_QUADS, lenient=True)
            named = sorted(g for g in graphs if g is not None and not g.startswith("_:"))
            self._described = state, named, store
        return self._described[1:]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if self._closed:
            raise PermanentStoreError(f"the store at {self.label} has been closed")
        try:
            yield
        except KgsyncError:
            raise
        except OSError as error:
            raise PermanentStoreError(f"{self.label}: {error}") from error


_State = tuple[tuple[Path, int, int], ...]


def _state(files: list[Path]) -> _State:
    """A fingerprint that shows whether files have changed since they were read."""
    return tuple((path, (s := path.stat()).st_size, s.st_mtime_ns) for path in files)


def _net(changes: tuple[Change, ...], check: _OneGraph) -> NetChange:
    """The net effect of some changes."""
    collected = Changes()
    for change in changes:
        for kind, path in change.parts.items():
            if kind == "patch":
                read_patch(path, collected, check)
                continue
            for parsed in parse_file(path):
                if rdf_suffix(path) in _NAMED_GRAPHS:
                    check(path, parsed)
                if kind == "clear":
                    collected.clear(_subjects(path, parsed))
                else:
                    collected.make(parsed.batch, add=kind != "removed")
    return collected.net()


def _subjects(path: Path, parsed: Parsed) -> Any:
    """The subjects of a clear file, whose lines are `<subject> <…/delete> " ?p ?o " .` each."""
    subjects, predicates, _ = parsed.batch.columns
    if predicates.dictionary.to_pylist() != [_DELETE]:
        raise PermanentStoreError(
            f"{path}: every triple of a clear file must have the predicate {_DELETE}"
        )
    return subjects.dictionary


class _OneGraph:
    """Checks that all changes are about the same graph."""

    def __init__(self, required: bool = True) -> None:
        self._required = required
        self._graphs: set[str | None] = set()

    def __call__(self, path: Path, parsed: Parsed) -> TripleBatch:
        if self._required and parsed.batch.num_rows:
            self._graphs.update(parsed.graphs or [None])
        if len(self._graphs) > 1:
            names = ", ".join(f"<{g}>" if g else "the default graph" for g in self._graphs)
            raise PermanentStoreError(f"{path}: all changes must be about one graph, not {names}")
        return parsed.batch


def _in_graph(parsed: Parsed, graph: str | None) -> TripleBatch:
    if parsed.graphs is None:
        return parsed.batch if graph is None else parsed.batch[:0]
    return parsed.batch.filter(pa.array([name == graph for name in parsed.graphs]))


def _describing(parsed: Parsed) -> Iterator[str]:
    """Statements about versions, and marks of graphs that kgsync wrote, as N-Quads."""
    predicates = parsed.batch.column(1)
    wanted = [text in _DESCRIBING for text in predicates.dictionary.to_pylist()]
    rows = np.flatnonzero(np.array(wanted, bool)[np.asarray(predicates.indices)])
    for row in rows.tolist():
        graph = parsed.graphs[row] if parsed.graphs else None
        name = "" if graph is None else graph if graph.startswith("_:") else f"<{graph}>"
        s, p, o = (column[row].as_py() for column in parsed.batch.columns)
        if p != _TYPE or o == f"<{OUTPUT_GRAPH}>":
            yield f"{s} {p} {o} {name} .\n"
