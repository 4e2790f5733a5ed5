"""The records of a version's files (size and checksum), and how they are read."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from kgsync.errors import StateCorruptedError

__all__ = [
    "FOLDER",
    "RecordedFiles",
    "read_json",
    "recorded",
    "sha256_of",
    "sidecar_files",
]

FOLDER = "embeddings"
"""Of the sidecar files, in the folder of a version."""
_BUFFER = 1 << 20
"""Bytes that are hashed at a time."""


def sha256_of(path: Path) -> str:
    """The checksum of a file.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def recorded(path: Path) -> dict[str, Any]:
    """What is recorded about a file.

    Raises:
        OSError: It cannot be read.
    """
    return {"sha256": sha256_of(path), "bytes": path.stat().st_size}


class RecordedFiles:
    """Writes the files of one folder; each is hashed while it is written.

    A file is on the disk, safe from a power cut, when it is recorded.
    """

    def __init__(self, folder: Path) -> None:
        """Set the folder, which is created if it does not exist."""
        self.folder = folder
        self.recorded: dict[str, dict[str, Any]] = {}
        """Name -> sha256, bytes."""

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A new file, open for writing from its beginning to its end.

        Raises:
            OSError: The disk refused.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / name).open("wb") as file:
            hashing = _Hashing(file)
            # Writers of Parquet send many small pieces.
            buffered = io.BufferedWriter(hashing, _BUFFER)
            try:
                yield buffered
                buffered.flush()
            finally:
                hashing.is_over = True  # what a failure left in the buffer goes nowhere
                buffered.detach()
            file.flush()
            os.fsync(file.fileno())
        self.recorded[name] = {"sha256": hashing.sha256.hexdigest(), "bytes": hashing.size}


class _Hashing(io.RawIOBase):
    """Passes on what is written, and hashes it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.sha256 = hashlib.sha256()
        self.size = 0
        self.is_over = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        view = memoryview(data)
        if view.nbytes and not self.is_over:
            flat = view.cast("B")
            self._file.write(flat)
            self.sha256.update(flat)
            self.size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self.size


def sidecar_files(files: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those files of a version that are sidecar files, by their names in their own folder."""
    inside = f"{FOLDER}/"
    return {
        name.removeprefix(inside): about for name, about in files.items() if name.startswith(inside)
    }


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """The JSON object in a file.

    Args:
        path: The file.
        remedy: What to do if it is damaged; the end of the error's message.

    Raises:
        StateCorruptedError: It cannot be read, or is not a JSON object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StateCorruptedError(f"cannot read {path}: {error}; {remedy}") from error
    if not isinstance(content, dict):
        raise StateCorruptedError(f"{path} is not what kgsync wrote; {remedy}")
    return content
