"""Files that survive a power cut, and checksums by which a damaged one is noticed.

Three kinds: a file that is replaced in one step, JSON with a checksum of itself, and a file whose
size and checksum are recorded elsewhere while it is written.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from kgsync.errors import StateCorruptedError

__all__ = [
    "UNFINISHED",
    "RecordedFiles",
    "digest_of",
    "read_json",
    "recorded",
    "sealed",
    "sha256_of",
    "sync_to_disk",
    "unfinished",
    "unsealed",
    "write_file",
    "write_sealed",
]

UNFINISHED = ".new"
"""What the name of a file ends with until it is complete."""
_BUFFER = 1 << 20
"""Bytes that are hashed at a time."""


@contextmanager
def unfinished(*paths: Path) -> Iterator[list[Path]]:
    """Files to write that replace others once all are complete, the first one last.

    Raises:
        OSError: The write failed; no file has changed, unless a later one could not be renamed.
    """
    beside = [path.with_name(path.name + UNFINISHED) for path in paths]
    try:
        yield beside
        for new, path in reversed(list(zip(beside, paths, strict=True))):
            new.rename(path)
    except BaseException:
        for new in beside:
            with suppress(OSError):
                new.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes | str | memoryview, *, lasting: bool = True) -> None:
    """Replace a file in one step.

    Args:
        path: The file.
        content: The new content.
        lasting: Whether it has to survive a power cut.

    Raises:
        OSError: The write failed; the file is unchanged, or new but not safe from a power cut.
    """
    with unfinished(path) as (beside,), beside.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    if lasting:
        sync_to_disk(path.parent)


def sync_to_disk(*paths: Path) -> None:
    """Flush the content of files, or the names in folders, to disk, in this order.

    Raises:
        OSError: The write failed.
    """
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def digest_of(content: Any) -> str:
    """A checksum of what can be written as JSON, however it is written."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The same with a checksum of itself, as `sha256`."""
    return {**content, "sha256": digest_of(content)}


def unsealed(content: Any) -> Any:
    """What `sealed` was given; content without a checksum, as older kgsyncs wrote it, as it is.

    Raises:
        ValueError: The content does not match its checksum.
    """
    if not isinstance(content, dict) or "sha256" not in content:
        return content
    rest = {name: value for name, value in content.items() if name != "sha256"}
    if content["sha256"] != digest_of(rest):
        raise ValueError("the content does not match its checksum")
    return rest


def write_sealed(path: Path, content: dict[str, Any], end: str = "") -> None:
    """Replace a file in one step by JSON with a checksum of itself.

    Raises:
        OSError: The write failed; see `write_file`.
    """
    write_file(path, json.dumps(sealed(content)) + end)


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
