"""Copies of the vectors as literals in the store: where they are, and bringing them up to date.

A version is copied into a graph that no reader uses yet. When the copy is complete and verified,
the graph records what it is a copy of, the metadata names it, and the move of the head shows it:
readers see one whole version or the other. With `literals = "rolling"` two graphs take turns, so
that only vectors that moved since a graph was written are written again. The state notes what is
being written and what rolling graphs hold (literals.json, literals/), so that an interrupted copy
continues; only the store says which copies are complete.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from kgsync import queries
from kgsync.errors import TransientStoreError
from kgsync.graph.port import FlushingStore, GraphStore
from kgsync.publish.literals.content import Changes, Content, Names
from kgsync.publish.literals.datatypes import DATATYPES
from kgsync.publish.literals.graph import LiteralGraph
from kgsync.publish.metadata.graph import LiteralCopy, MetadataGraph
from kgsync.publish.settings import PublishSettings
from kgsync.state.directory import State, VersionFolder
from kgsync.state.sidecar import FOLDER, INDEX, TENSORS, VECTORS

__all__ = ["LiteralCopies"]

_RECORD = "literals.json"
_SLOTS = "a", "b"


@dataclass(frozen=True)
class _Copy:
    """What is known of one graph."""

    graph: str
    version: int
    digest: str
    """What it is a copy of, and how. A number is used again if its commit never happened."""
    rows: dict[str, int]
    done: int = 0
    """Parts that were written."""
    began_with: str | None = None
    """What the graph was a copy of before; None if it was empty."""
    counts: dict[str, float] = field(default_factory=dict)
    """What had to be done for its version, once that is done; see `StepReport.literals`."""
    known: Names = field(default_factory=dict)
    """Elements that were not sent, because the store had refused them before."""
    refused: Names = field(default_factory=dict)
    """Elements that it refused since."""

    @property
    def left_out(self) -> Names:
        """All elements that the store refuses."""
        return _merged(self.known, self.refused)

    def counts_of(self, version: int) -> dict[str, float]:
        """What had to be done for a version: nothing, if it found the copy of another."""
        rows = sum(self.rows.values())
        nothing = _counts({}, rows, int(self.counts.get("left_out", 0)))
        return self.counts if self.counts and version == self.version else nothing


class LiteralCopies:
    """The graphs of literals of one sync."""

    def __init__(self, settings: PublishSettings, metadata: MetadataGraph, state: State) -> None:
        """Choose the places; nothing is opened yet."""
        self._settings = settings
        self._metadata = metadata
        self._state = state

    @property
    def wanted(self) -> bool:
        """Whether vectors are copied at all."""
        return self._settings.literals != "none"

    def is_missing(self, store: GraphStore, folder: VersionFolder) -> bool:
        """Whether the current version should have a linked copy, and has none."""
        if not self.wanted:
            return False
        visible = self._metadata.literals(store)
        return visible is None or not self._graph(visible).is_copy_of(store, self._digest(folder))

    def write(
        self, store: GraphStore, folder: VersionFolder, content: Content | None = None
    ) -> dict[str, float] | None:
        """Copy a version into a graph that nobody reads, unless a copy exists.

        Args:
            store: Where.
            folder: The version.
            content: Its vectors, where they are in memory; else its files are read and checked.

        Returns:
            How many literals were written, removed, left unchanged and left out, and how far
            those that were replaced had moved; None if no copies are wanted.

        Raises:
            StoreError: The store cannot be written, or a graph is not ours.
            StateCorruptedError: The files do not match their checksums.
        """
        if not self.wanted:
            return None
        copy = self._copy_of(folder)
        if copy is None or not self._is_there(store, copy):
            if content is None:
                for name in (INDEX, TENSORS):
                    folder.verified(f"{FOLDER}/{name}")
                content = Content.of_sidecar(folder.path / FOLDER)
            copy = self._written(store, folder, content)
        return copy.counts_of(folder.manifest.version)

    def _written(self, store: GraphStore, folder: VersionFolder, everything: Content) -> _Copy:
        content = everything.writable()
        begun, old = self._begun(store, folder)
        copy, problem = self._bring(store, begun, content, old, len(everything))
        if problem and (begun.done or old is not None):
            # The graph did not hold what was assumed: begin again.
            self._graph(begun.graph).drop(store)
            begun = replace(
                begun, done=0, began_with=None, counts={}, known=copy.left_out, refused={}
            )
            copy, problem = self._bring(store, begun, content, None, len(everything))
        if problem:
            raise TransientStoreError(problem)
        return copy

    def link(self, store: GraphStore, folder: VersionFolder) -> None:
        """Link the copy of a version in its description, if there is one."""
        copy, version = self._copy_of(folder), folder.manifest.version
        if not self.wanted or copy is None:
            return
        if not self._graph(copy.graph).is_copy_of(store, copy.digest):
            return
        counts = copy.counts_of(version)
        linked = LiteralCopy(
            copy.graph,
            DATATYPES[self._settings.datatype].iri,
            sum(copy.rows.values()),
            int(counts["written"]),
            round(counts["farthest"], 9),
        )
        self._metadata.link_literals(store, version, linked)

    def drop_old(self, store: GraphStore, current: VersionFolder) -> None:
        """Remove graphs beyond `keep`; that of the current version stays."""
        number, previous = current.manifest.version, current.manifest.previous
        links = self._metadata.literal_links(store)
        order = sorted(links, key=lambda v: (v == number, v == previous, v), reverse=True)
        keep = self._settings.keep if self.wanted else 0
        for version in order[keep:]:
            if version != number:
                self._metadata.unlink_literals(store, version)
                del links[version]
        kept = {*links.values()}
        if self._settings.literals == "rolling":
            kept |= {self._name(slot) for slot in _SLOTS}
        rows = store.select(queries.load("_own_graphs").bind(owner=self._metadata.owner))
        for graph in sorted({row[0].value for row in rows if row[0] is not None} - kept):
            if graph.startswith(self._name("")):
                self._graph(graph).drop(store)
                shutil.rmtree(self._held(graph), ignore_errors=True)
        copies = self._copies()
        if any(copy.graph not in kept for copy in copies):
            self._save([copy for copy in copies if copy.graph in kept])

    # -- one copy ------------------------------------------------------------------------------

    def _begun(self, store: GraphStore, folder: VersionFolder) -> tuple[_Copy, Content | None]:
        """The copy to work on, and what its graph held when it was begun.

        It is one that was interrupted, or a graph that nobody is sent to.
        """
        visible = self._metadata.literals(store)
        if self._settings.literals == "rolling":
            names = [*_SLOTS]
        else:
            name = f"{folder.manifest.version}/{self._settings.datatype}"
            names = [name, f"{name}/again"]
        graph = next(graph for graph in map(self._name, names) if graph != visible)
        known = _merged(*(copy.left_out for copy in self._copies()))
        new = _Copy(graph, folder.manifest.version, self._digest(folder), {}, known=known)
        last = next((copy for copy in self._copies() if copy.graph == graph), None)
        if last is not None and last.digest == new.digest:
            last = replace(last, version=new.version)
            if last.began_with is None:
                return last, None
        alike = last is not None and _datatype_of(last.digest) == self._settings.datatype
        if last is not None and alike and self._settings.literals == "rolling":
            base = last.began_with if last.digest == new.digest else last.digest
            old = Content.load(self._held(graph)) if self._held_digest(graph) == base else None
            if old is not None and last.digest == new.digest:
                return last, old
            if old is not None and self._is_there(store, last):
                return replace(new, began_with=base), old
        self._graph(graph).drop(store)
        return new, None

    def _bring(
        self,
        store: GraphStore,
        begun: _Copy,
        content: Content,
        old: Content | None,
        everything: int,
    ) -> tuple[_Copy, str | None]:
        """Bring a graph from what it holds to the content; the copy, and what is wrong with it.

        Args:
            store: Where.
            begun: What is known of the graph.
            content: What can be written.
            old: What the graph holds; None if nothing.
            everything: How many vectors there are.
        """
        content = content.without(begun.known)
        graph = self._graph(begun.graph)
        graph.claim(store)
        for version, linked in self._metadata.literal_links(store).items():
            if linked == begun.graph:
                self._metadata.unlink_literals(store, version)
        tolerance = self._settings.tolerance
        changes = content.changes_from(old, tolerance)

        def note(done: int, refused: Names) -> None:
            if isinstance(store, FlushingStore):
                store.flush()  # what is remembered as done must not be taken back
            self._remember(replace(begun, done=done, refused=refused))

        before = begun.done, begun.refused
        note(*before)
        done, refused = graph.write(store, content, changes, before, note)
        if refused:
            content = content.without(refused)
            changes = content.changes_from(old, tolerance)
        held = content.after(old, changes, tolerance)
        problem = graph.problem(store, held)
        if problem:
            return replace(begun, refused=refused), problem
        counts = _counts(changes, len(content), everything - len(content))
        copy = replace(begun, done=done, rows=content.rows, refused=refused, counts=counts)
        self._remember(copy)  # first: what says that it is complete has its counts
        if self._settings.literals == "rolling":
            self._hold(copy, held)
        graph.finish(store, copy.digest)
        return copy, None

    def _is_there(self, store: GraphStore, copy: _Copy) -> bool:
        graph = self._graph(copy.graph)
        return graph.is_copy_of(store, copy.digest) and graph.has_rows(store, copy.rows)

    def _copy_of(self, folder: VersionFolder) -> _Copy | None:
        digest = self._digest(folder)
        return next((copy for copy in reversed(self._copies()) if copy.digest == digest), None)

    def _digest(self, folder: VersionFolder) -> str:
        sha256 = folder.manifest.files[f"{FOLDER}/{VECTORS}"]["sha256"]
        return f"{sha256} {self._settings.datatype} {self._settings.tolerance}"

    def _graph(self, graph: str) -> LiteralGraph:
        return LiteralGraph(graph, self._metadata.owner, self._settings.datatype)

    def _name(self, name: str) -> str:
        return f"{self._metadata.graph}/vectors/{name}"

    # -- what is remembered --------------------------------------------------------------------

    def _held(self, graph: str) -> Path:
        """What a graph that rolls held when it was last complete."""
        return self._state.path / "literals" / graph.removeprefix(self._name("")).replace("/", "-")

    def _held_digest(self, graph: str) -> str | None:
        return Content.digest_of_saved(self._held(graph))

    def _hold(self, copy: _Copy, held: Content) -> None:
        with self._state.writing("a copy of the literals"):
            held.save(self._held(copy.graph), copy.digest)

    def _copies(self) -> list[_Copy]:
        found = self._state.recall(_RECORD) or []
        try:
            # Once it was a list without a checksum.
            copies = found["copies"] if isinstance(found, dict) else found
            return [_Copy(**copy) for copy in copies]
        except (TypeError, KeyError):
            return []  # the copies are only written once more

    def _remember(self, copy: _Copy) -> None:
        self._save([*(other for other in self._copies() if other.graph != copy.graph), copy])

    def _save(self, copies: list[_Copy]) -> None:
        self._state.remember(_RECORD, {"copies": [asdict(copy) for copy in copies]})


def _merged(*parts: Names) -> Names:
    """All of some names."""
    return {
        kind: sorted({name for part in parts for name in part.get(kind, [])})
        for kind in sorted({kind for part in parts for kind in part})
    }


def _datatype_of(digest: str) -> str:
    return digest.split(" ")[1]


def _counts(changes: dict[str, Changes], rows: int, left_out: int) -> dict[str, float]:
    none = np.empty(0, np.float32)
    distances = np.concatenate([none, *(change.distances for change in changes.values())])
    written = sum(len(change.written) for change in changes.values())
    return {
        "written": written,
        "removed": sum(len(change.removed) for change in changes.values()),
        "unchanged": rows - written,
        "left_out": left_out,
        "farthest": float(distances.max(initial=0.0)),
        "mean": float(distances.mean()) if len(distances) else 0.0,
    }
