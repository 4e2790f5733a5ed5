"""Atomic, durable file writes that survive a power cut, and content with its own checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = [
    "UNFINISHED",
    "digest_of",
    "sealed",
    "sync_to_disk",
    "unfinished",
    "unsealed",
    "write_file",
]

UNFINISHED = ".new"
"""What the name of a file ends with until it is complete."""


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


def sync_to_disk(path: Path) -> None:
    """Flush a file's content, or the names in a folder, to disk.

    Raises:
        OSError: The write failed.
    """
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
