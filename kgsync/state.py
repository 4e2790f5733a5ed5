"""The state directory: one folder a version, and one pointer whose move is the commit.

    state.json            format, owner's UUID
    lock                  held (flock) while a process steps
    endpoint/             what was found out about the store, and parts of an interrupted reading
    looks.json            sizes of versions that may still be loaded
    whole.json            when a live graph was last read whole
    waiting.json          changes that were seen and are too small to be taken yet
    run.json, run.lock    how the scheduled sync is getting on; held (flock) while it runs
    CURRENT               which version is current, and the highest number ever given
    current.json          the same for readers without kgsync, with what they need to know
    literals.json         the copies of vectors in the store, finished or not
    literals/             what graphs of literals that roll held when they were last complete
    metadata.oxigraph/    the metadata, where the store of the graph cannot be written
    000042/manifest.json  what the version is, with a checksum of every file in it
    000042/graph/         term ids, edges, living elements
    000042/embeddings/    the sidecar files

A version is written beside, synced to disk and renamed; it exists once CURRENT names it. Retention
removes a version's files and keeps its manifest, which is the history.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors

from kgsync.durable import no_lock, sync_to_disk, write_file
from kgsync.errors import StateCorruptedError, StateError, StateLockedError, StateWriteError
from kgsync.publish.files import digest_of, read_json, recorded, sha256_of
from kgsync.publish.manifest import Manifest

__all__ = ["FORMAT", "State", "VersionFolder"]

FORMAT = 1
_FOLDER = re.compile(r"\d{6,}")
_REMEDY = "restore the state from a backup, or start over in another state directory"
_NOTHING: dict[str, Any] = {"version": None, "highest": 0}
"""What CURRENT says before the first commit."""


@dataclass(frozen=True)
class VersionFolder:
    """One committed version on disk."""

    path: Path
    manifest: Manifest

    @property
    def retained(self) -> bool:
        """Whether the files are still there."""
        return all((self.path / name).is_file() for name in self.manifest.files)

    def verified(self, name: str) -> Path:
        """The path of one file, after its checksum was compared.

        Raises:
            StateCorruptedError: The file is gone or is not what was committed.
        """
        path = self.path / name
        try:
            found = sha256_of(path)
        except OSError as error:
            raise StateCorruptedError(
                f"version {self.manifest.version} has no usable {path}: {error.strerror}; restore "
                "the state from a backup or run `kgsync rebuild`"
            ) from error
        if found != self.manifest.files[name]["sha256"]:
            raise StateCorruptedError(
                f"{path} does not match its checksum; restore the state from a backup "
                "or run `kgsync rebuild`"
            )
        return path


class State:
    """A state directory."""

    def __init__(self, path: Path, store: str | None = None) -> None:
        """Name a directory; nothing is read or made yet.

        Args:
            path: The directory.
            store: The store whose embeddings it holds; None where that cannot be told.
        """
        self.path = path
        self._store = store

    @property
    def workspace(self) -> Path:
        """Where an adapter may remember things that can be found out again."""
        return self.path / "endpoint"

    @property
    def exists(self) -> bool:
        """Whether the directory holds a state, be it a damaged one."""
        if (self.path / "state.json").exists():
            return True
        # A process killed while it made the state leaves a pointer to nothing.
        return (self.path / "CURRENT").exists() and self._pointer() != _NOTHING

    @property
    def uuid(self) -> str:
        """The UUID that marks what this state has published.

        Raises:
            StateError: The state is of another format or of another store.
        """
        path = self.path / "state.json"
        data = read_json(path, _REMEDY)
        if data.get("format") != FORMAT:
            raise StateError(
                f"the state in {self.path} has format {data.get('format')}, this kgsync reads "
                f"{FORMAT}; use the kgsync that wrote it, or another state directory"
            )
        if None not in (self._store, data.get("store")) and data["store"] != self._store:
            raise StateError(
                f"the state in {self.path} belongs to the store {data['store']}, not to "
                f"{self._store}; name another state directory (state.path), or, if that store has "
                f'moved, correct "store" in {path}'
            )
        if not isinstance(data.get("uuid"), str):
            raise StateCorruptedError(f"{path} is not what kgsync wrote; restore it from a backup")
        return str(data["uuid"])

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the state for one writer. A process that dies holds nothing.

        Raises:
            StateLockedError: Another process holds it.
        """
        with self.writing("the lock"):
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                raise StateLockedError(
                    f"another process (pid {owner}) is working on the state {self.path}; "
                    "wait for it to finish"
                ) from None
            except OSError as error:
                raise no_lock(self.path / "lock", error) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            self._create()
            yield
        finally:
            os.close(handle)

    def current(self) -> VersionFolder | None:
        """The committed version, or None before the first."""
        number = self._pointer()["version"]
        if number is not None and not self._folder(number).is_dir():
            raise StateCorruptedError(
                f"the current version {self._folder(number)} is gone; restore the state from a "
                "backup or run `kgsync rebuild`"
            )
        return None if number is None else self.version(number)

    def next_number(self) -> int:
        """The number of the next version; numbers never repeat."""
        return int(self._pointer()["highest"]) + 1

    def version(self, number: int) -> VersionFolder:
        """One committed version.

        Raises:
            StateCorruptedError: Its manifest cannot be read.
            StateError: There is no such version.
        """
        path = self._folder(number)
        if not path.is_dir():
            raise StateError(f"there is no embedding version {number} in {self.path}")
        data = read_json(path / "manifest.json", _REMEDY)
        body: dict[str, Any] = data.get("manifest") or {}
        if data.get("sha256") != digest_of(body):
            raise StateCorruptedError(
                f"{path / 'manifest.json'} does not match its checksum; restore the state from "
                "a backup or run `kgsync rebuild`"
            )
        return VersionFolder(path, Manifest(**body))

    def versions(self) -> list[VersionFolder]:
        """All committed versions, oldest first, also those without files."""
        return [self.version(number) for number in self._committed()]

    def readable_versions(self) -> list[VersionFolder]:
        """All committed versions, oldest first, those with a damaged manifest left out."""
        found = []
        for number in self._committed():
            with suppress(StateCorruptedError):
                found.append(self.version(number))
        return found

    @contextmanager
    def drafting(self, number: int) -> Iterator[Path]:
        """A folder to write a new version into; removed again if that fails."""
        draft = self.path / f"draft-{number:06d}"
        with self.writing(f"version {number}"):
            try:
                shutil.rmtree(draft, ignore_errors=True)
                draft.mkdir()
                yield draft
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise

    def seal(self, draft: Path, manifest: Manifest) -> VersionFolder:
        """Sync a draft to disk and give it its name. It is not committed yet."""
        with self.writing(f"version {manifest.version}"):
            files = {}
            for path in sorted(p for p in draft.rglob("*") if p.is_file()):
                sync_to_disk(path)
                name = path.relative_to(draft).as_posix()
                files[name] = recorded(path)
            _write_manifest(draft, replace(manifest, files=files))
            for folder in [*(p for p in draft.rglob("*") if p.is_dir()), draft]:
                sync_to_disk(folder)
            target = self._folder(manifest.version)
            # Only a process killed between this rename and its commit leaves such a folder.
            shutil.rmtree(target, ignore_errors=True)
            draft.rename(target)
            sync_to_disk(self.path)
        return self.version(manifest.version)

    def amend(self, folder: VersionFolder, report: dict[str, Any]) -> None:
        """Replace the report of a sealed version; only before it is committed."""
        with self.writing(f"version {folder.manifest.version}"):
            _write_manifest(folder.path, replace(folder.manifest, report=report))

    def commit(self, number: int) -> None:
        """Make a sealed version the current one. This one rename is the commit."""
        highest = max(number, int(self._pointer()["highest"]))
        with self.writing("CURRENT"):
            self._point(number, highest)

    def superfluous(self, keep: int) -> list[int]:
        """Versions that have files beyond the number to keep.

        The current version counts first, then the one it came from, then the last ones.
        """
        current = self.current()
        first = [current.manifest.version, current.manifest.previous] if current else []
        with_files = [n for n in self._committed() if self._data(n)]
        order = sorted(with_files, key=lambda n: (n in first[:1], n in first, n), reverse=True)
        return sorted(order[keep:])

    def drop_files(self, numbers: Iterable[int]) -> None:
        """Remove the files of versions; their manifests stay as the history."""
        for number in numbers:
            for folder in self._data(number):
                shutil.rmtree(folder)

    def set_aside_current(self) -> None:
        """Move a damaged current version out of the way, without losing what is left of it."""
        pointer = self._pointer()
        folder = self._folder(pointer["version"])
        if folder.exists():
            folder.rename(self.path / f"damaged-{folder.name}")
        self._point(None, pointer["highest"])

    def _create(self) -> None:
        """Give a new directory its identity; only called under the lock."""
        if self.exists:
            return
        with self.writing("the state"):
            self._point(**_NOTHING)
            identity = {"format": FORMAT, "uuid": str(uuid.uuid4()), "store": self._store}
            write_file(self.path / "state.json", json.dumps(identity))

    def _data(self, number: int) -> list[Path]:
        return [child for child in self._folder(number).iterdir() if child.is_dir()]

    def _pointer(self) -> dict[str, Any]:
        pointer = read_json(self.path / "CURRENT", _REMEDY)
        version, highest = pointer.get("version"), pointer.get("highest")
        if not isinstance(version, int | None) or not isinstance(highest, int):
            raise StateCorruptedError(
                f"{self.path / 'CURRENT'} is not what kgsync wrote; restore it from a backup"
            )
        return pointer

    def _point(self, version: int | None, highest: int) -> None:
        text = json.dumps({"version": version, "highest": highest})
        write_file(self.path / "CURRENT", text + "\n")

    def _committed(self) -> list[int]:
        highest = self._pointer()["highest"]
        names = (p.name for p in self.path.iterdir() if _FOLDER.fullmatch(p.name))
        return sorted(number for number in map(int, names) if number <= highest)

    def _folder(self, number: int) -> Path:
        return self.path / f"{number:06d}"

    def recall(self, name: str) -> Any:
        """What was remembered under a name; None if nothing was, or it cannot be read."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None  # it is only found out once more

    def remember(self, name: str, value: Any) -> None:
        """Keep something small, as JSON; only called under the lock."""
        with self.writing(name):
            write_file(self.path / name, json.dumps(value))

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Turn a refusal of the disk into an error that says what is still safe."""
        try:
            yield
        except (OSError, safetensors.SafetensorError) as error:
            full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            full = full or "No space left" in str(error) or "File too large" in str(error)
            remedy = "free some space" if full else "check the directory and its permissions"
            raise StateWriteError(
                f"cannot write {what} in {self.path}: {error}; {remedy} and run the step again. "
                "The last committed version is untouched"
            ) from error


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    body = vars(manifest)
    text = json.dumps({"sha256": digest_of(body), "manifest": body}, indent=1)
    write_file(folder / "manifest.json", text)
