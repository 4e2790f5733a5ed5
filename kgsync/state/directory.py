"""The state directory: one folder per version, and one pointer whose replacement is the commit.

    state.json            format, owner's UUID
    lock                  held (flock) while a process steps
    endpoint/             what is known about the store, and parts of an interrupted reading
    looks.json            sizes of versions that may still be loaded
    whole.json            time of the last full scan of the graph
    files.json            what the files of the committed version looked like, if it came from files
    costs.json            measured cost of reading the store, by method
    pause.json            why the sync is paused until the graph is at rest
    waiting.json          changes that are still too small to be taken
    run.json, run.lock    status of the scheduled sync; held (flock) while it runs
    (other names)         what listeners of scheduled runs add; see `kgsync.service.run_listeners`
    CURRENT               which version is current, and the highest number ever given
    history.jsonl         what was committed, one line per version
    current.json          the current version, for readers without kgsync
    literals.json         the copies of vectors in the store, finished or not
    literals/             contents of the rolling literal graphs when last complete
    metadata.oxigraph/    the metadata, if the source store cannot be written
    moves/000042.parquet  what changed in a version, and how far its vectors moved
    000042/manifest.json  what the version is, with a checksum of every file in it
    000042/uncommitted    there until CURRENT has named the version
    000042/graph/         term ids, edges, active elements
    000042/embeddings/    the sidecar files
    000042/learning/      what the next update is told besides the vectors, if it is anything

A version is written to a draft folder, synced to disk and renamed; it exists once CURRENT names it.
Retention removes a version's files and keeps its manifest, which is the history, and its record of
moves, which has a retention of its own. Every file has a checksum, in itself or in a manifest; a
file that can be computed again counts as missing if its checksum does not match.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgsync.common.durable import sync_to_disk
from kgsync.common.locks import HeldError, take_lock
from kgsync.errors import StateCorruptedError, StateError, StateLockedError
from kgsync.state.history import Entry, History
from kgsync.state.manifest import Manifest
from kgsync.state.recent import Recent
from kgsync.state.small_files import Pointer, StateFolder
from kgsync.state.version_folder import UNCOMMITTED, VersionFolder, remedy, write_manifest

__all__ = ["State", "VersionFolder", "folder_name"]

_FOLDER = re.compile(r"(damaged-)?(\d{6,})")


def folder_name(number: int) -> str:
    """The name of a version's folder in its state."""
    return f"{number:06d}"


class State(StateFolder):
    """A state directory with its versions."""

    def __init__(self, path: Path, store: str | None = None) -> None:
        """Use a directory; nothing is read or created yet.

        Args:
            path: The directory.
            store: The store whose embeddings it holds; None if unknown.

        Raises:
            ConfigError: The path is not valid for a directory.
        """
        super().__init__(path, store)
        self._history = History(path / "history.jsonl")
        self.recent = Recent()
        """What this process still has in memory of the version that it committed last."""
        self.compared_with: str | None = None
        """Where this process has compared every description in a store with the manifests."""
        self._knows_history = False
        """Whether this process holds the lock and has read on: nobody else adds a version."""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the state for one writer. The lock ends with its process.

        Raises:
            StateLockedError: Another process holds it.
        """
        with self.writing("the lock"):
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                take_lock(handle, self.path / "lock")
            except HeldError:
                owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                raise StateLockedError(
                    f"another process (pid {owner}) is working on the state {self.path}; "
                    "wait for it to finish"
                ) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            self._create()
            pointer = self._pointer_or_none()
            if pointer is not None:
                self._knows_history = self._complete(pointer)
            yield
        finally:
            self._knows_history = False
            os.close(handle)

    def current(self) -> VersionFolder | None:
        """The committed version, or None before the first."""
        number = self._pointer().version
        if number is None:
            return None
        if self._folder(number).is_dir():
            return self.version(number)
        if self._pointer().version != number:
            return self.current()  # another process has set it aside meanwhile
        raise StateCorruptedError(
            f"the current version {self._folder(number)} is gone; {remedy(self._folder(number))}"
        )

    def is_current(self, number: int) -> bool:
        """Whether a version is the current one; False if a damaged CURRENT cannot tell."""
        pointer = self._pointer_or_none()
        return pointer is not None and pointer.version == number

    def next_number(self) -> int:
        """The number of the next version.

        Numbers never repeat: one that is on disk is not used again, whatever CURRENT says. The
        folder is only listed if there is more on disk than CURRENT knows of.
        """
        pointer = self._pointer_or_none()
        if pointer is not None:
            following = self._folder(pointer.highest + 1)
            if not (following.exists() or _set_aside(following).exists()):
                return pointer.highest + 1
        numbers = self._on_disk()
        if pointer is not None:
            numbers = {n for n in numbers if not self._is_replaceable(n, pointer)}
        return max(pointer.highest if pointer else 0, *numbers, 0) + 1

    def has(self, number: int) -> bool:
        """Whether a committed version has this number; its files may be gone."""
        return self._is_committed(number, self._pointer_or_none())

    def version(self, number: int) -> VersionFolder:
        """One committed version.

        Raises:
            StateCorruptedError: Its manifest cannot be read.
            StateError: There is no such version.
        """
        path = self._folder(number)
        if not path.is_dir():
            raise StateError(f"there is no embedding version {number} in {self.path}")
        return VersionFolder.read(path)

    @property
    def history(self) -> History:
        """What was committed, without reading every manifest."""
        return self._history if self._knows_history else self._history_at(None)

    def _history_at(self, pointer: Pointer | None) -> History:
        """The history; the pointer is read unless the caller knows it."""
        if (self.path / "state.json").exists():
            last = self._history.read_on()
            for number in self._committed_after(last, pointer or self._pointer_or_none()):
                self._history.add(self._entry(number))
        return self._history

    def readable_versions(self) -> list[VersionFolder]:
        """All committed versions, oldest first, except those with a damaged manifest."""
        return self._readable(self.history.entries)

    def _readable(self, numbers: Iterable[int]) -> list[VersionFolder]:
        found = []
        for number in sorted(numbers):
            with suppress(StateError):  # damaged, or removed by hand
                found.append(self.version(number))
        return found

    def retained_versions(self) -> list[int]:
        """Committed versions whose files are still there."""
        folders = self._readable(self.history.with_files)
        return [folder.manifest.version for folder in folders if folder.retained]

    def damaged_versions(self, readable: Iterable[VersionFolder] | None = None) -> list[int]:
        """Committed versions whose manifest cannot be read.

        Args:
            readable: What `readable_versions` returned, if it was called already.
        """
        found = self.readable_versions() if readable is None else readable
        numbers = sorted(self.history.entries.keys() - {each.manifest.version for each in found})
        return [number for number in numbers if self._folder(number).is_dir()]

    @contextmanager
    def drafting(self, number: int) -> Iterator[Path]:
        """A folder to write a new version into; removed again if that fails."""
        draft = self.path / f"draft-{folder_name(number)}"
        with self.writing(f"version {number}"):
            try:
                shutil.rmtree(draft, ignore_errors=True)
                shutil.rmtree(_replaced(draft), ignore_errors=True)
                draft.mkdir()
                yield draft
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise

    def seal(self, draft: Path, manifest: Manifest) -> VersionFolder:
        """Give a draft its final name. It is not committed yet.

        Args:
            draft: A folder whose files are on the disk already.
            manifest: What the version is, with what is recorded about every file.
        """
        with self.writing(f"version {manifest.version}"):
            write_manifest(draft, manifest)
            (draft / UNCOMMITTED).touch()
            sync_to_disk(*(p for p in draft.rglob("*") if p.is_dir()), draft)
            target = self._folder(manifest.version)
            if target.exists():
                self._replace(target, draft)
            else:
                draft.rename(target)
            sync_to_disk(self.path)
        return VersionFolder(target, manifest)

    def _replace(self, target: Path, draft: Path) -> None:
        """Replace a version that was never committed by a draft.

        Raises:
            StateCorruptedError: It may have been.
        """
        if not self._is_replaceable(int(target.name), self._pointer()):
            raise StateCorruptedError(
                f"{target} already exists and is not overwritten; move it out of {self.path}"
            )
        # Moved as a whole: half of it would look like a damaged version.
        target.rename(_replaced(draft))
        draft.rename(target)
        shutil.rmtree(_replaced(draft))

    def amend(self, folder: VersionFolder, report: dict[str, Any]) -> VersionFolder:
        """Replace the report of a sealed version; only before it is committed."""
        amended = replace(folder.manifest, report=report)
        with self.writing(f"version {folder.manifest.version}"):
            write_manifest(folder.path, amended)
        return VersionFolder(folder.path, amended)

    def check_space(self, needed: int) -> None:
        """Check before any work that the disk has space for a version of that many bytes.

        Raises:
            StateWriteError: It has not.
        """
        with self.writing("the next version"):
            if shutil.disk_usage(self.path).free < needed:
                raise OSError(errno.ENOSPC, f"it takes about {needed / 2**20:,.1f} MB")

    def commit(self, number: int) -> None:
        """Make a sealed version the current one. This one rename is the commit."""
        pointer = self._pointer_or_none()
        # A new number is the highest already, and that of an older version changes none.
        highest = max(number, pointer.highest if pointer else self.next_number() - 1)
        with self.writing("CURRENT"):
            self._complete(self._point(number, highest))

    def superfluous(self, keep: int, current: VersionFolder) -> list[int]:
        """Versions with files, beyond the number to keep.

        The current version counts first, then the one it came from, then the last ones.
        """
        first = [current.manifest.version, current.manifest.previous]
        kept = self.history.with_files
        order = sorted(kept, key=lambda n: (n in first[:1], n in first, n), reverse=True)
        return sorted(order[keep:])

    def drop_files(self, numbers: Iterable[int]) -> None:
        """Remove the files of versions; their manifests stay as the history."""
        numbers = list(numbers)
        for number in numbers:
            for folder in self._data(number):
                shutil.rmtree(folder)
        if numbers:
            self.history.drop(numbers)

    def set_aside_current(self) -> None:
        """Move a damaged current version aside, keeping what is left of it."""
        pointer, highest = self._pointer_or_none(), self.next_number() - 1
        with self.writing("the damaged version"):
            if pointer is None:
                with suppress(FileNotFoundError):
                    (self.path / "CURRENT").rename(self.path / "damaged-CURRENT")
            elif pointer.version is not None and self._folder(pointer.version).exists():
                folder = self._folder(pointer.version)
                folder.rename(_set_aside(folder))
                self.history.forget(pointer.version)
            self._point(None, highest)

    def _create(self) -> None:
        """Give a new directory its identity; only called under the lock."""
        if self.exists:
            return
        with self.writing("the state"):
            self._point(None, self.next_number() - 1)
            self._create_identity()

    def _complete(self, pointer: Pointer) -> bool:
        """Complete what a killed process or an older kgsync left; only called under the lock.

        Returns:
            Whether all committed versions are in the history.
        """
        known = False
        with suppress(OSError):  # it is tried again the next time
            history = self._history_at(pointer)
            known = True
            if not pointer.is_sealed:
                self._reseal_identity()
                self._point(pointer.version, pointer.highest)
            # After CURRENT was damaged, the highest number may be of a version that it never named.
            if pointer.version == pointer.highest:
                (self._folder(pointer.highest) / UNCOMMITTED).unlink(missing_ok=True)
            history.save()
        return known

    def _data(self, number: int) -> list[Path]:
        try:
            return [child for child in self._folder(number).iterdir() if child.is_dir()]
        except FileNotFoundError:
            return []  # somebody has removed the whole version

    def _on_disk(self) -> set[int]:
        """Numbers of all folders, including those of versions that were set aside."""
        try:
            with os.scandir(self.path) as found:
                names = [_FOLDER.fullmatch(each.name) for each in found]
        except FileNotFoundError:
            return set()
        return {int(match[2]) for match in names if match}

    def _is_committed(self, number: int, pointer: Pointer | None) -> bool:
        """Whether CURRENT names a version, or has done so before."""
        folder = self._folder(number)
        if pointer is not None and pointer.version == number:
            return folder.is_dir()  # a killed process may have left the marker
        return folder.is_dir() and not (folder / UNCOMMITTED).exists()

    def _is_replaceable(self, number: int, pointer: Pointer) -> bool:
        """Whether a version is known to have never been committed: a process was killed before."""
        return number > pointer.highest and (self._folder(number) / UNCOMMITTED).exists()

    def _committed_after(self, number: int, pointer: Pointer | None) -> list[int]:
        """Committed versions after one, ascending."""
        if pointer is not None and not self._folder(max(number, pointer.highest) + 1).exists():
            found = [*range(number + 1, pointer.highest + 1)]
        else:
            found = sorted(n for n in self._on_disk() if n > number)
        return [n for n in found if self._is_committed(n, pointer)]

    def _entry(self, number: int) -> Entry:
        has_files = bool(self._data(number))
        try:
            return Entry.of(self.version(number).manifest, has_files)
        except StateCorruptedError:
            return Entry(number, has_files=has_files)

    def _folder(self, number: int) -> Path:
        return self.path / folder_name(number)


def _set_aside(folder: Path) -> Path:
    """Where a damaged version is kept."""
    return folder.with_name(f"damaged-{folder.name}")


def _replaced(draft: Path) -> Path:
    """Temporary place of a folder that a draft replaces."""
    return draft.with_name(f"{draft.name}-replaced")
