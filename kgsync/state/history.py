"""What was committed, in one append-only file, so that no step reads every manifest.

    history.jsonl    one line per version, and one whenever files of versions were removed

Every line has its own checksum. The manifests are authoritative: a line that is missing, because a
process was killed before it wrote it, is made from its manifest, and a damaged file is written
again from all manifests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgsync.common.durable import sealed, unsealed, write_file
from kgsync.state.manifest import Manifest

__all__ = ["Entry", "History"]


@dataclass(frozen=True)
class Entry:
    """One committed version."""

    version: int
    created: str | None = None
    """None if the manifest could not be read."""
    graph_version: str | None = None
    gathered: tuple[str, ...] = ()
    """Graph versions that were taken with it."""
    has_files: bool = True
    """False once retention has removed them."""

    @classmethod
    def of(cls, manifest: Manifest, has_files: bool) -> Entry:
        """What a manifest says."""
        gathered = tuple(manifest.report.get("gathered", ()))
        name = manifest.graph_version["name"]
        return cls(manifest.version, manifest.created, name, gathered, has_files)


class History:
    """The committed versions of one state, as far as they are known to this process."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is read yet."""
        self._path = path
        self._clear()

    def _clear(self) -> None:
        self.entries: dict[int, Entry] = {}
        """By number, ascending."""
        self.created: dict[int, str] = {}
        """When each was made, but for those whose manifest could not be read."""
        self.with_files: set[int] = set()
        """Versions whose files were not removed yet."""
        self.graph_versions: set[str] = set()
        """Names of all graph versions that were taken, alone or together."""
        self._file: tuple[int, int] | None = None
        """Inode of the file, and how much of it is known."""
        self._unwritten: list[Entry] = []
        self._is_damaged = False

    def read_on(self) -> int:
        """Read what is new in the file; returns the last version that it knows, or 0."""
        self._read_on()
        return next(reversed(self.entries), 0)

    def add(self, entry: Entry) -> None:
        """Add a version that the file lacks; it is written by `save`."""
        self._add(entry)
        self._unwritten.append(entry)

    def drop(self, versions: Iterable[int]) -> None:
        """Note that the files of versions were removed; only called under the lock."""
        self._note({"dropped": sorted(versions)})

    def forget(self, version: int) -> None:
        """Note that a version was set aside; only called under the lock."""
        self._note({"aside": version})

    def save(self) -> None:
        """Write what the file lacks; only called under the lock.

        Raises:
            OSError: Writing to disk failed.
        """
        if self._is_damaged:
            self._rewrite()
        elif self._unwritten:
            self._append([_record(entry) for entry in self._unwritten])
        self._unwritten = []

    def _note(self, record: dict[str, Any]) -> None:
        self.save()
        self._apply(record)
        self._append([record])

    def _read_on(self) -> None:
        try:
            with self._path.open("rb") as file:
                found = os.fstat(file.fileno())
                inode, known = self._file or (found.st_ino, 0)
                if (found.st_ino, found.st_size) == (inode, known):
                    return
                if found.st_ino != inode or found.st_size < known:
                    self._clear()
                    known = 0
                file.seek(known)
                lines = file.read().splitlines(keepends=True)
        except OSError:
            if self._file is not None:
                self._clear()
            return
        try:
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # it is being written, or was when the machine stopped
                self._apply(_checked(line))
                known += len(line)
        except (ValueError, KeyError, TypeError):
            self._clear()
            self._is_damaged = True
            return
        self._file = found.st_ino, known

    def _apply(self, record: dict[str, Any]) -> None:
        if "dropped" in record:
            self.with_files.difference_update(map(int, record["dropped"]))
        elif "aside" in record:
            self.entries.pop(record["aside"], None)
            self.created.pop(record["aside"], None)
            self.with_files.discard(record["aside"])
            self.graph_versions = _names(self.entries.values())
        else:
            self._add(Entry(**{**record, "gathered": tuple(record["gathered"])}))

    def _add(self, entry: Entry) -> None:
        self.entries[entry.version] = entry
        if entry.created is not None:
            self.created[entry.version] = entry.created
        if entry.has_files:
            self.with_files.add(entry.version)
        self.graph_versions |= _names([entry])

    def _append(self, records: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(sealed(record)) + "\n" for record in records)
        with self._path.open("ab") as file:
            inode, known = self._file or (os.fstat(file.fileno()).st_ino, 0)
            if (os.fstat(file.fileno()).st_ino, file.tell()) != (inode, known):
                # The end of a line that was cut short.
                self._rewrite()
                return
            # Not synced to disk: what a power cut takes away is made from the manifests again.
            file.write(text.encode())
            self._file = inode, known + len(text.encode())

    def _rewrite(self) -> None:
        entries = [
            Entry(**{**vars(entry), "has_files": number in self.with_files})
            for number, entry in self.entries.items()
        ]
        text = "".join(json.dumps(sealed(_record(entry))) + "\n" for entry in entries)
        write_file(self._path, text)
        self._file = self._path.stat().st_ino, len(text.encode())
        self._is_damaged = False


def _checked(line: bytes) -> dict[str, Any]:
    record = json.loads(line)
    if "sha256" not in record:
        raise ValueError("a line without a checksum")
    content: dict[str, Any] = unsealed(record)
    return content


def _record(entry: Entry) -> dict[str, Any]:
    return asdict(entry)


def _names(entries: Iterable[Entry]) -> set[str]:
    return {
        name
        for entry in entries
        for name in (entry.graph_version, *entry.gathered)
        if name is not None
    }
