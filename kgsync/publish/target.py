"""Where metadata and literals go: the source store, another one, or a store inside the state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from kgsync import queries
from kgsync.common.retrying import Retry
from kgsync.errors import ConfigError, PermanentStoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import CompactStore, FlushingStore, GraphStore
from kgsync.graph.stores import StoreTarget, is_in_memory, opened, slug
from kgsync.publish.literals.copies import LiteralCopies
from kgsync.publish.metadata.graph import MetadataGraph
from kgsync.publish.settings import PublishSettings
from kgsync.queries import check_iri
from kgsync.state.directory import State, VersionFolder
from kgsync.state.manifest import Manifest

__all__ = ["PublishTarget"]

T = TypeVar("T")

_PATIENCE_SECONDS = 60.0
_FLUSHED = 64
"""An embedded store is flushed after so many versions."""


class PublishTarget:
    """Publishes one sync's metadata and vectors, opening the store only while it writes."""

    def __init__(self, settings: PublishSettings, source: StoreTarget, state: State) -> None:
        """Name the places.

        Args:
            settings: What was asked for.
            source: The store the graph comes from.
            state: The state, which owns what is published.

        Raises:
            ConfigError: The name of the metadata graph is no IRI.
        """
        self._enabled = settings.metadata
        self._source = source
        elsewhere = None if _same_place(settings.target, source) else settings.target
        self._target = settings.endpoint.applied(elsewhere)
        self._state = state
        name = settings.graph or f"urn:kgsync:{slug(state.path.name) or 'graph'}"
        self._graph = MetadataGraph(check_iri(name), state.uuid, settings.base_url)
        self._literals = LiteralCopies(settings, self._graph, state)

    @property
    def graph(self) -> str:
        """The metadata graph."""
        return self._graph.graph

    @contextmanager
    def reading(self) -> Iterator[GraphStore]:
        """The store that is published into, held open for queries.

        Raises:
            StoreError: It cannot be opened, or is not there yet.
        """
        if self._target is not None:
            with opened(self._target) as store:
                yield store
            return
        with opened(self._source, workspace=self._state.workspace) as store:
            if store.capabilities.writable and store.capabilities.named_graphs:
                yield store
                return
        with opened(self._state.path / "metadata.oxigraph") as store:
            yield store

    def check(self, source: GraphStore, current: VersionFolder | None) -> None:
        """See before any work that publishing can succeed, and catch up on what it missed.

        Args:
            source: The open source.
            current: The committed version, which is published again if the store does not show
                it; None leaves it at the history, which is described wherever it is not.

        Raises:
            StoreError: The target cannot be opened, or its graph is not ours.
            StateCorruptedError: A file to publish is not what was committed.
        """
        if not self._enabled:
            return
        with self._store(source) as store:
            head = self._graph.head(store)
            store.update(queries.load("_nothing").bind())  # fails now, not after training
            shown = current is not None and head == current.manifest.version
            self._describe_missing(store, thorough=not shown)
            if current is None:
                return
            if head != current.manifest.version or self._literals.is_missing(store, current):
                self._literals.write(store, current)
                self._literals.link(store, current)
                self._flip(store, current.manifest.version, ())

    def stage(self, folder: VersionFolder) -> dict[str, float] | None:
        """Describe a version that is about to be committed, and copy its vectors if they are to be.

        Returns:
            How many literals were written; see `StepReport.literals`.
        """

        def write(store: GraphStore) -> dict[str, float] | None:
            if self._graph.described(store) < len(self._state.history.created):
                self._describe_missing(store)
            counts = self._literals.write(store, folder)
            # A description that is there is of one that was never committed.
            self._describe(store, folder.manifest, folder.path)
            self._literals.link(store, folder)
            return counts

        return self._write(write)

    def stage_again(self, folder: VersionFolder) -> None:
        """Make sure that an older version, and all of the history, is as staging leaves it."""

        def write(store: GraphStore) -> None:
            self._graph.head(store)
            self._describe_missing(store)
            self._literals.write(store, folder)
            self._literals.link(store, folder)

        self._write(write)

    def _describe_missing(self, store: GraphStore, *, thorough: bool = True) -> None:
        """Describe those committed versions that the store does not know, and only those.

        What is there stays untouched: describing it again could be cut short.

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
        # Versions may share their source, which is as large as the last of them found it.
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

    def flip(self, version: int, without_files: Iterable[int]) -> None:
        """Show a committed version as the current one, and others as having no files."""

        def write(store: GraphStore) -> None:
            self._flip(store, version, without_files)
            # What was deleted slows an embedded store down until it is flushed, and every flush
            # makes it merge its files, which takes the longer the more it holds.
            if version % _FLUSHED == 0 and isinstance(store, FlushingStore):
                store.flush()

        self._write(write)

    def _flip(self, store: GraphStore, version: int, without_files: Iterable[int]) -> None:
        self._graph.flip(store, version)
        self._graph.forget_files(store, without_files)
        self._literals.drop_old(store, self._state.version(version))

    def compact(self) -> tuple[int, int]:
        """Give back the disk space of what was deleted from the store; see `CompactStore`."""
        with self._store(None) as store:
            if not isinstance(store, CompactStore):
                raise ConfigError(
                    f"{store.label} is not an embedded store: only those can be compacted"
                )
            return store.compact()

    def _write(self, write: Callable[[GraphStore], T]) -> T | None:
        """Write once the store can be had; training is not thrown away for a busy store."""
        if not self._enabled:
            return None

        def attempt() -> T:
            with self._store(None) as store:
                return write(store)

        return Retry(patience=_PATIENCE_SECONDS, first=1.0, most=1.0).call(attempt)

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
                f"vectors are to be written as literals, but {source.label} cannot be written; "
                "set source.endpoint.update_url, or publish.target to another store, or "
                'publish.literals = "none"'
            )
        else:
            with opened(self._state.path / "metadata.oxigraph", create=True) as store:
                yield store


def _same_place(target: str | None, source: StoreTarget) -> bool:
    if target is None or is_in_memory(source):
        return False
    return target == str(source) or os.path.realpath(target) == os.path.realpath(str(source))
