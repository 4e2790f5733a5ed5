"""Where metadata and literals go: the source store, another one, or a store inside the state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from kgsync.common.retrying import Retry
from kgsync.errors import ConfigError, PermanentStoreError, StateError, TransientStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import CompactStore, FlushingStore, GraphStore, QueryReader
from kgsync.graph.stores import StoreTarget, check_rights, is_in_memory, opened, slug
from kgsync.publish.literals.content import Content
from kgsync.publish.literals.copies import LiteralCopies
from kgsync.publish.metadata.graph import MetadataGraph
from kgsync.publish.settings import PublishSettings
from kgsync.queries import check_iri
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State, VersionFolder
from kgsync.state.manifest import Manifest
from kgsync.state.transaction import Transaction

__all__ = ["PublishTarget"]

T = TypeVar("T")

_PATIENCE_SECONDS = 60.0
_FLUSHED = 64
"""An embedded store is flushed after this many versions."""


class PublishTarget:
    """Publishes one sync's metadata and vectors, opening the store only while it writes."""

    def __init__(self, settings: PublishSettings, source: StoreTarget, state: State) -> None:
        """Choose where to publish; nothing is opened yet.

        Args:
            settings: The section `[publish]`.
            source: The store the graph comes from.
            state: The state, which owns what is published.

        Raises:
            ConfigError: The name of the metadata graph is not an IRI.
        """
        self._enabled = settings.metadata
        self._source = source
        elsewhere = None if _same_place(settings.target, source) else settings.target
        self._target = settings.endpoint.applied(elsewhere)
        self._state = state
        name = settings.graph or f"urn:kgsync:{slug(state.path.name) or 'graph'}"
        self._graph = MetadataGraph(check_iri(name), state.uuid, settings.base_url)
        self._literals = LiteralCopies(settings, self._graph, state)
        self._kept: ExitStack | None = None
        self._open: GraphStore | None = None

    @property
    def graph(self) -> str:
        """The metadata graph."""
        return self._graph.graph

    @contextmanager
    def reading(self) -> Iterator[GraphStore]:
        """The store that is published into, held open for queries.

        Raises:
            StoreError: It cannot be opened.
            StateError: Nothing is published yet.
        """
        if self._target is not None:
            with opened(self._target) as store:
                yield store
            return
        if self._inside_state.is_dir():
            with opened(self._inside_state) as store:
                if self._shows_current(store):
                    yield store  # even if the source is gone
                    return
        with opened(self._source, workspace=self._state.workspace) as store:
            if self._may_be_published_in(store):
                yield store
                return
        if not self._inside_state.is_dir():
            raise StateError(
                f"there is no published embedding of {store.label} yet; check that "
                "publish.metadata is on, and run `kgsync step`"
            )
        with opened(self._inside_state) as store:
            yield store

    @property
    def _inside_state(self) -> Path:
        """The store that is published into if the source cannot be written."""
        return self._state.path / "metadata.oxigraph"

    def _may_be_published_in(self, source: GraphStore) -> bool:
        """Whether to look for the metadata in the source, where it may have become read-only."""
        able = source.capabilities
        if not able.named_graphs or not isinstance(source, QueryReader):
            return False
        return able.writable or not self._inside_state.is_dir() or self._shows_current(source)

    def _shows_current(self, store: GraphStore) -> bool:
        """Whether the current version is the one that a store shows."""
        current = self._state.current()
        try:
            head = self._graph.head(store)
        except PermanentStoreError:  # the graph is not ours
            return False
        return current is not None and head == current.manifest.version

    def check(self, source: GraphStore, base: CommittedVersion | None) -> None:
        """Check before any work that publishing can succeed, and publish what is missing.

        Args:
            source: The open source.
            base: The committed version, which is published again if the store does not show
                it; None leaves it at the history, which is described wherever it is not.

        Raises:
            StoreError: The target cannot be opened, or its graph is not ours.
            StateCorruptedError: A file to publish does not match its checksum.
        """
        if not self._enabled:
            return
        current = base.folder if base else None
        with self._store(source) as store:
            head = self._graph.head(store)
            check_rights(store)  # fail now, not after training
            shown = current is not None and head == current.manifest.version
            self._describe_missing(store, thorough=not shown)
            if current is None:
                return
            if head != current.manifest.version or self._literals.is_missing(store, current):
                self._literals.write(store, current)
                self._literals.link(store, current)
                self._flip(store, current, ())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the store open from its first use to the end of the block: a step opens it once."""
        try:
            with ExitStack() as self._kept:
                try:
                    yield
                finally:
                    self._open = None
        finally:
            self._kept = None

    def release(self, draft: Transaction) -> None:
        """Stage a written version, commit it, and show it; the store is opened once.

        Raises:
            StoreError: The store cannot be written, or what is there is not ours.
            StateError: A file to publish is damaged, or writing to disk failed.
        """
        with self.held():
            self.stage(draft)
            draft.commit()  # the one pointer
            self.show(draft)  # completed by the next step if it is cut off

    def stage(self, draft: Transaction) -> None:
        """Describe a version before its commit, and copy its vectors if `literals` is set.

        For a rollback, only what is missing is written.

        Raises:
            StoreError: The store cannot be written, or what is there is not ours.
            StateCorruptedError: A file to publish does not match its checksum.
        """
        prepared = draft.prepared
        content = Content.of(prepared.sidecar) if prepared else None

        def stage(store: GraphStore) -> dict[str, float] | None:
            self._graph.head(store)  # somebody may have taken the graph during the training
            if self._graph.described(store) < len(self._state.history.created):
                self._describe_missing(store)
            folder = draft.folder
            counts = self._literals.write(store, folder, content)
            # A description that is there is of one that was never committed.
            self._describe(store, folder.manifest, folder.path)
            self._literals.link(store, folder)
            return counts

        def stage_again(store: GraphStore) -> None:
            self._graph.head(store)
            self._describe_missing(store)
            self._literals.write(store, draft.folder)
            self._literals.link(store, draft.folder)

        with draft.phases("stage"):
            if prepared is None:
                self._write(stage_again)
            else:
                draft.amend(self._write(stage))

    def show(self, draft: Transaction) -> None:
        """Show a committed version as the current one; see `Transaction.show`."""
        draft.show(self._shown)

    def _describe_missing(self, store: GraphStore, *, thorough: bool = True) -> None:
        """Describe only those committed versions that the store lacks.

        Existing descriptions stay unchanged: writing them again could be interrupted.

        Args:
            store: The store to publish into.
            thorough: Look at every version; else only at the newest, where this process has looked
                at all of them before and finds that one as it should be.
        """
        created = self._state.history.created
        place = f"{store.label} {self.graph}"
        if not thorough and self._state.compared_with == place:
            newest = dict(islice(reversed(created.items()), 1))
            if not self._graph.missing(store, newest):
                return
        missing = self._graph.missing(store, created)
        self._state.compared_with = place
        if not missing:
            return
        folders = self._state.readable_versions()
        # Versions may share their source; its size is that of the last one.
        sizes = {f.manifest.graph_version["name"]: f.manifest.triples for f in folders}
        for folder in folders:
            if folder.manifest.version in missing:
                triples = sizes[folder.manifest.graph_version["name"]]
                self._describe(store, replace(folder.manifest, triples=triples), folder.path)
                self._literals.link(store, folder)
        gone = (folder.manifest.version for folder in folders if not folder.retained)
        self._graph.forget_files(store, gone)

    def _describe(self, store: GraphStore, manifest: Manifest, path: Path) -> None:
        endpoint = self._source.url if isinstance(self._source, Endpoint) else None
        self._graph.stage(store, manifest, path, endpoint=endpoint)

    def _shown(self, folder: VersionFolder, without_files: list[int]) -> None:
        """Show a version as the current one, and others as having no files."""

        def write(store: GraphStore) -> None:
            self._flip(store, folder, without_files)
            # Deleted data slows an embedded store down until a flush, and every flush merges its
            # files, which takes longer the more it holds.
            if folder.manifest.version % _FLUSHED == 0 and isinstance(store, FlushingStore):
                store.flush()

        self._write(write)

    def _flip(self, store: GraphStore, folder: VersionFolder, without_files: Iterable[int]) -> None:
        self._graph.flip(store, folder.manifest.version)
        self._graph.forget_files(store, without_files)
        self._literals.drop_old(store, folder)

    def compact(self) -> tuple[int, int]:
        """Free the disk space of deleted data in the store; see `CompactStore`."""
        with self._store(None) as store:
            if not isinstance(store, CompactStore):
                raise ConfigError(
                    f"{store.label} cannot be compacted: only an embedded store on disk can"
                )
            return store.compact()

    def _write(self, write: Callable[[GraphStore], T]) -> T | None:
        """Write, with retries: a busy store must not waste the training."""
        if not self._enabled:
            return None

        def attempt() -> T:
            try:
                with self._opened() as store:
                    return write(store)
            except TransientStoreError:
                self._let_go()
                raise

        # Also where the store asks for a longer wait: it may be back before.
        retry = Retry(patience=_PATIENCE_SECONDS, first=1.0, most=1.0, heeds_wait=False)
        return retry.call(attempt)

    @contextmanager
    def _opened(self) -> Iterator[GraphStore]:
        """The store to publish into, opened for this block, or shared inside `held`."""
        if self._kept is None:
            with self._store(None) as store:
                yield store
            return
        if self._open is None:
            self._open = self._kept.enter_context(self._store(None))
        yield self._open

    def _let_go(self) -> None:
        """Close a store that is held: it failed, and is opened again for the next try."""
        self._open = None
        if self._kept is not None:
            self._kept.close()

    @contextmanager
    def _store(self, source: GraphStore | None) -> Iterator[GraphStore]:
        """The store to publish into; the source is opened only if it is not open already."""
        if self._target is not None:
            with opened(self._target, create=True) as store:
                yield store
        elif source is None:
            with (
                opened(self._source, workspace=self._state.workspace) as reopened,
                self._store(reopened) as store,
            ):
                yield store
        elif source.capabilities.writable and source.capabilities.named_graphs:
            yield source
        elif self._literals.wanted:
            raise PermanentStoreError(
                f"publish.literals is set, but {source.label} is read-only; "
                "set source.endpoint.update_url, or publish.target to another store, or "
                'publish.literals = "none"'
            )
        else:
            with opened(self._inside_state, create=True) as store:
                yield store


def _same_place(target: str | None, source: StoreTarget) -> bool:
    if target is None or is_in_memory(source):
        return False
    return target == str(source) or os.path.realpath(target) == os.path.realpath(str(source))
