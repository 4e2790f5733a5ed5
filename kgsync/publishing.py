"""Where metadata goes: the source store, another one, or a store inside the state."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kgsync.config import PublishSettings
from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphStore
from kgsync.graph.stores import StoreTarget, is_in_memory, opened, slug
from kgsync.publish.metadata import MetadataGraph
from kgsync.queries import check_iri
from kgsync.state import State, VersionFolder

__all__ = ["PublishTarget"]

_PATIENCE_SECONDS = 60.0


class PublishTarget:
    """Publishes one sync's metadata, opening the store only while it writes."""

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
        self._graph = MetadataGraph(check_iri(name), state.uuid)

    def check(self, source: GraphStore, current: VersionFolder | None) -> None:
        """See before any work that publishing can succeed, and catch up on what it missed.

        Args:
            source: The open source.
            current: The committed version; if the store's head is not there it is published
                again, with the whole history if the store has none.

        Raises:
            StoreError: The target cannot be opened, or its graph is not ours.
        """
        if not self._enabled:
            return
        with self._store(source) as store:
            head = self._graph.head(store)
            if current is not None and head != current.manifest.version:
                for folder in [current] if head is not None else self._state.versions():
                    self._graph.stage(store, folder.manifest, folder.path)
                self._graph.flip(store, current.manifest.version)

    def stage(self, folder: VersionFolder) -> None:
        """Describe a version that is about to be committed."""
        self._write(lambda store: self._graph.stage(store, folder.manifest, folder.path))

    def flip(self, version: int, without_files: Iterable[int]) -> None:
        """Show a committed version as the current one, and others as having no files."""

        def write(store: GraphStore) -> None:
            self._graph.flip(store, version)
            self._graph.forget_files(store, without_files)

        self._write(write)

    def _write(self, write: Callable[[GraphStore], None]) -> None:
        """Write once the store can be had; training is not thrown away for a busy store."""
        if not self._enabled:
            return
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with self._store(None) as store:
                    write(store)
                return
            except TransientStoreError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(1.0)

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
        else:
            with opened(self._state.path / "metadata.oxigraph", create=True) as store:
                yield store


def _same_place(target: str | None, source: StoreTarget) -> bool:
    if target is None or is_in_memory(source):
        return False
    return target == str(source) or os.path.realpath(target) == os.path.realpath(str(source))
