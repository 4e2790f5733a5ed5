"""Copies of the vectors as literals in the store: where they are, and bringing them up to date.

A version is copied into a graph that no reader is sent to. When the copy is complete and verified,
the metadata names it, and the move of the head shows it: readers see one whole version or the
other. With `literals = "rolling"` two graphs take turns, so that only what moved since a graph was
written has to be written again. What each graph holds is remembered in the state (literals.json,
and literals/ for graphs that roll), so that an interrupted copy goes on where it was.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from kgsync.config import PublishSettings
from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphStore
from kgsync.publish.literal_content import Changes, Content
from kgsync.publish.literal_graph import LiteralGraph
from kgsync.publish.literals import DATATYPES
from kgsync.publish.metadata import LiteralCopy, MetadataGraph
from kgsync.publish.sidecar import INDEX, TENSORS
from kgsync.state import State, VersionFolder

__all__ = ["LiteralCopies"]

_RECORD = "literals.json"
_SLOTS = "a", "b"


@dataclass(frozen=True)
class _Copy:
    """What is known of one graph."""

    graph: str
    version: int
    digest: str
    """Of the sidecar files that were copied: a number is used twice if its commit never came."""
    datatype: str
    rows: dict[str, int]
    complete: bool = False
    done: int = 0
    """Parts that were written, while it is not complete."""
    from_scratch: bool = True
    """Whether it began as an empty graph, and not with what is kept of the last copy."""


class LiteralCopies:
    """The graphs of literals of one sync."""

    def __init__(self, settings: PublishSettings, metadata: MetadataGraph, state: State) -> None:
        """Name the places; nothing is opened yet."""
        self._settings = settings
        self._metadata = metadata
        self._state = state

    @property
    def wanted(self) -> bool:
        """Whether vectors are to be copied at all."""
        return self._settings.literals != "none"

    def is_missing(self, store: GraphStore, folder: VersionFolder) -> bool:
        """Whether a version should have a complete copy that readers are sent to, and has not."""
        if not self.wanted:
            return False
        copy = self._copy_of(folder)
        visible = self._metadata.literals(store)
        return copy is None or visible != {copy.graph} or not self._is_there(store, copy)

    def write(self, store: GraphStore, folder: VersionFolder) -> dict[str, float] | None:
        """Copy a version into a graph that nobody reads, unless it is there already.

        Returns:
            How many literals were written, removed, left unchanged and left out, and how far
            those that were replaced had moved; None if no copies are wanted.

        Raises:
            StoreError: The store cannot be written, or a graph is not ours.
        """
        if not self.wanted:
            return None
        everything = Content.of_sidecar(folder.path / "embeddings")
        content = everything.writable()
        left_out = len(everything) - len(content)
        copy = self._copy_of(folder)
        if copy is not None and self._is_there(store, copy):
            return _counts({}, len(content), left_out)
        begun, old = self._begun(store, folder, content)
        found = self._bring(store, begun, content, old)
        if found.problem and (begun.done or old is not None):
            # What the graph held is not what it was taken for: begin again.
            self._graph(begun.graph).drop(store)
            begun = replace(begun, done=0, from_scratch=True)
            found = self._bring(store, begun, content, None)
        if found.problem:
            raise TransientStoreError(found.problem)
        if self._settings.literals == "rolling":
            with self._state.writing("a copy of the literals"):
                found.held.save(self._kept(begun.graph))
        self._remember(replace(begun, complete=True))
        return _counts(found.changes, len(content), left_out)

    def link(self, store: GraphStore, folder: VersionFolder) -> None:
        """Name the copy of a version that is described already."""
        copy = self._copy_of(folder)
        if self.wanted and copy is not None:
            linked = LiteralCopy(copy.graph, DATATYPES[copy.datatype], sum(copy.rows.values()))
            self._metadata.link_literals(store, copy.version, linked)

    def drop_old(self, store: GraphStore, current: int) -> None:
        """Remove the graphs of versions that are kept no longer; the current one stays."""
        copies = self._copies()
        if self._settings.literals == "rolling":
            kept = {self._name(slot) for slot in _SLOTS}
        else:
            last = sorted(copy.version for copy in copies if copy.complete)[-self._settings.keep :]
            kept = {copy.graph for copy in copies if copy.version in last}
        kept |= {copy.graph for copy in copies if copy.version == current}
        for copy in copies:
            if copy.graph not in kept:
                self._metadata.forget_literals(store, copy.graph)
                self._graph(copy.graph).drop(store)
                shutil.rmtree(self._kept(copy.graph), ignore_errors=True)
        self._save([copy for copy in copies if copy.graph in kept])

    # -- one copy ------------------------------------------------------------------------------

    def _begun(
        self, store: GraphStore, folder: VersionFolder, content: Content
    ) -> tuple[_Copy, Content | None]:
        """The copy to work on, and what it began with.

        It is one that was interrupted, or a graph that nobody is sent to.
        """
        rows = {kind: len(iris) for kind, iris in content.iris.items()}
        new = _Copy("", folder.manifest.version, _digest(folder), self._settings.datatype, rows)
        if self._settings.literals == "versions":
            graph = self._name(f"{new.version}/{new.datatype}")
        else:
            visible = self._metadata.literals(store)
            graph = next(name for name in map(self._name, _SLOTS) if name not in visible)
        new = replace(new, graph=graph)
        last = next((copy for copy in self._copies() if copy.graph == graph), None)
        if last is not None and last.datatype == new.datatype:
            interrupted = not last.complete and last.digest == new.digest
            if interrupted and last.from_scratch:
                return last, None
            if interrupted or self._is_there(store, last):
                old = Content.load(self._kept(graph))
                if old is not None:
                    return (last if interrupted else replace(new, from_scratch=False)), old
        self._graph(graph).drop(store)
        return new, None

    def _bring(
        self, store: GraphStore, begun: _Copy, content: Content, old: Content | None
    ) -> _Found:
        """Bring a graph from what it holds to the content."""
        graph = self._graph(begun.graph)
        graph.claim(store)
        self._metadata.forget_literals(store, begun.graph)
        changes = content.changes_from(old, self._settings.tolerance)

        def note(done: int) -> None:
            self._remember(replace(begun, done=done))

        note(begun.done)
        graph.write(store, content, changes, begun.done, note)
        held = content.after(old, changes)
        return _Found(changes, held, graph.problem(store, held))

    def _is_there(self, store: GraphStore, copy: _Copy) -> bool:
        return copy.complete and self._graph(copy.graph).is_complete(store, copy.rows)

    def _copy_of(self, folder: VersionFolder) -> _Copy | None:
        digest, datatype = _digest(folder), self._settings.datatype
        for copy in self._copies():
            if copy.complete and (copy.digest, copy.datatype) == (digest, datatype):
                return copy
        return None

    def _graph(self, graph: str) -> LiteralGraph:
        return LiteralGraph(graph, self._metadata.owner, self._settings.datatype)

    def _name(self, name: str) -> str:
        return f"{self._metadata.graph}/vectors/{name}"

    # -- what is remembered --------------------------------------------------------------------

    def _kept(self, graph: str) -> Path:
        """What a graph that rolls held when it was last complete."""
        return self._state.path / "literals" / graph.rpartition("/")[2]

    def _copies(self) -> list[_Copy]:
        try:
            return [_Copy(**copy) for copy in self._state.recall(_RECORD) or []]
        except TypeError:
            return []  # they are only written once more

    def _remember(self, copy: _Copy) -> None:
        self._save([*(other for other in self._copies() if other.graph != copy.graph), copy])

    def _save(self, copies: list[_Copy]) -> None:
        self._state.remember(_RECORD, [asdict(copy) for copy in copies])


@dataclass(frozen=True)
class _Found:
    """A graph after it was written."""

    changes: dict[str, Changes]
    held: Content
    problem: str | None


def _digest(folder: VersionFolder) -> str:
    files = folder.manifest.files
    return "".join(files[f"embeddings/{name}"]["sha256"][:32] for name in (TENSORS, INDEX))


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
