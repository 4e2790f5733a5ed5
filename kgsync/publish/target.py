"""Where metadata goes: the source store, another one, or a store inside the state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from kgsync.config import PublishSettings
from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphStore
from kgsync.graph.stores import StoreTarget, open_store
from kgsync.publish.metadata import MetadataGraph
from kgsync.state import State, VersionFolder

__all__ = ["PublishTarget", "opened"]

T = TypeVar("T")
_PATIENCE_SECONDS = 60.0


@contextmanager
def opened(target: StoreTarget, *, create: bool = False) -> Iterator[GraphStore]:
    """A store held open for a while: an embedded one admits a single process at a time."""
    store = open_store(target, create=create)
    try:
        yield store
    finally:
        store.close()


class PublishTarget:
    """Publishes one sync's metadata, opening the store only while it writes."""

    def __init__(self, settings: PublishSettings, source: StoreTarget, state: State) -> None:
        """Name the places.

        Args:
            settings: What was asked for.
            source: The store the graph comes from.
            state: The state, which owns what is published.
        """
        self._settings = settings
        self._source = source
        self._state = state
        name = settings.graph or f"urn:kgsync:{state.path.name}"
        self._graph = MetadataGraph(name, state.uuid)

    def stage(self, folder: VersionFolder) -> None:
        """Describe a version that is about to be committed."""
        self._write(lambda store: self._graph.stage(store, folder))

    def flip(self, version: int, without_files: Iterable[int]) -> None:
        """Show a committed version as the current one."""

        def write(store: GraphStore) -> None:
            self._graph.flip(store, version)
            self._graph.forget_files(store, without_files)

        self._write(write)

    def repair(self, source: GraphStore, folder: VersionFolder) -> None:
        """Publish a committed version again if the store's head is not there."""
        if not self._settings.metadata:
            return
        with self._store(source) as store:
            if self._graph.head(store) != folder.manifest.version:
                self._graph.stage(store, folder)
                self._graph.flip(store, folder.manifest.version)

    def _write(self, write: Callable[[GraphStore], T]) -> None:
        """Write once the store can be had; training is not thrown away for a busy store."""
        if not self._settings.metadata:
            return
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with opened(self._source) as source, self._store(source) as store:
                    write(store)
                return
            except TransientStoreError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(1.0)

    @contextmanager
    def _store(self, source: GraphStore) -> Iterator[GraphStore]:
        if self._settings.target is not None:
            with opened(self._settings.target, create=True) as store:
                yield store
        elif source.capabilities.writable and source.capabilities.named_graphs:
            yield source
        else:
            with opened(self._state.path / "metadata.oxigraph", create=True) as store:
                yield store
