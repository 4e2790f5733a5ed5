"""The source of one sync: finds the next version, waits until it is at rest, and reads it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from kgsync.common.listener import Listener
from kgsync.graph.port import GraphStore
from kgsync.graph.reading import Reading
from kgsync.graph.versions import GraphVersion, VersionList
from kgsync.source.gathering import Choice, choose
from kgsync.source.naming_scope import naming_scope
from kgsync.source.notes import CommittedBase, Notes
from kgsync.source.reading import (
    Earlier,
    compared,
    passed_over,
    read_version,
    todo,
    versions_of,
)
from kgsync.source.rewritten import CommittedFiles, remember_files
from kgsync.source.settings import ReadingSettings
from kgsync.source.settling import await_rest

__all__ = ["Outlook", "Source"]


@dataclass(frozen=True)
class Outlook:
    """The pending versions, before any is read."""

    base: CommittedBase | None
    """The committed version."""
    versions: VersionList
    """All versions."""
    ahead: tuple[GraphVersion, ...]
    """The pending ones."""
    late: tuple[str, ...]
    """Versions added late: they are skipped."""
    files: CommittedFiles
    """Which files of the committed version have changed."""

    def is_new(self, reading: Reading) -> bool:
        """Whether a reading is worth a version; an unchanged live graph is not."""
        return self.base is None or self.versions.order != "live" or bool(reading.change)

    def empty_before(self, reading: Reading) -> tuple[str, ...]:
        """Graphs without triples that the catalogue names before a version."""
        now = self.base.graph_version if self.base else None
        return self.versions.empty_between(now, reading.version)

    def warnings(self, taken: Reading | None) -> tuple[str, ...]:
        """Warnings after a version was taken, or when none was pending."""
        empty = self.empty_before(taken) if taken else ()
        return (
            *(f"<{name}> is in the catalogue, but empty: it was skipped" for name in empty),
            *(
                f"<{name}> was added late and is older than the current version: it is skipped"
                for name in self.late
            ),
            *self.files.warnings(taken=taken is not None),
        )


@dataclass(frozen=True)
class Source:
    """Finds and reads the versions of one graph; the store is opened by the caller."""

    settings: ReadingSettings
    notes: Notes
    listener: Listener

    def look(
        self, store: GraphStore, base: CommittedBase | None, taken: Collection[str]
    ) -> Outlook:
        """Find the pending versions.

        Args:
            store: The open store.
            base: The committed version.
            taken: Names of all graph versions that were ever committed.

        Raises:
            VersionError: The versions cannot be ordered, or the graph is gone.
        """
        versions = versions_of(store, self.settings)
        late = passed_over(versions, base, taken)
        files = CommittedFiles.look(store, base, self.notes)
        return Outlook(base, versions, todo(versions, base, self.settings), late, files)

    def read(
        self,
        store: GraphStore,
        ahead: tuple[GraphVersion, ...],
        base: CommittedBase | None,
        *,
        now: bool = False,
    ) -> Choice:
        """Read the first version that is worth a step; see `choose`."""
        with naming_scope(self.settings):
            return choose(store, ahead, base, self.settings, self.notes, now=now)

    def remember(self, reading: Reading, number: int) -> None:
        """Note the files of version `number`; only called while the state is locked."""
        remember_files(reading.files, number, self.notes)

    def at_rest(self, store: GraphStore, outlook: Outlook) -> tuple[GraphVersion, ...]:
        """The pending versions that are at rest; see `await_rest`."""
        return self._at_rest(store, outlook.versions, outlook.ahead, initial=outlook.base is None)

    def first(self, store: GraphStore) -> Reading:
        """Read the version that a new state begins with."""
        versions = versions_of(store, self.settings)
        ahead = todo(versions, None, self.settings)
        ahead = self._at_rest(store, versions, ahead, initial=True)
        with naming_scope(self.settings):
            return read_version(store, ahead, Earlier.committed(None, self.settings), self.settings)

    def newest(self, store: GraphStore, base: CommittedBase | None) -> Reading:
        """Read the newest version as if it were the first; ids of the base are kept."""
        versions = versions_of(store, self.settings)
        newest = versions.versions[-1:]
        self._at_rest(store, versions, newest, initial=True)
        earlier = replace(Earlier.committed(base, self.settings), base=None)
        with naming_scope(self.settings):
            reading = read_version(store, newest, earlier, self.settings)
        return reading if base is None else compared(reading, base.edges, self.settings)

    def _at_rest(
        self,
        store: GraphStore,
        versions: VersionList,
        ahead: tuple[GraphVersion, ...],
        *,
        initial: bool,
    ) -> tuple[GraphVersion, ...]:
        with naming_scope(self.settings):
            return await_rest(
                store, versions, ahead, self.settings, self.notes, self.listener, initial=initial
            )
