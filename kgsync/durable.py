"""Files that are there whole or not at all, also after a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kgsync.errors import StateWriteError

__all__ = ["UNFINISHED", "no_lock", "sync_to_disk", "write_file"]

UNFINISHED = ".new"
"""What the name of a file ends with until it is complete."""


def write_file(path: Path, content: bytes | str) -> None:
    """Replace a file in one step.

    Raises:
        OSError: The disk refused; the file is as it was, or new but not safe from a power cut.
    """
    beside = path.with_name(path.name + UNFINISHED)
    try:
        with beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise
    sync_to_disk(path.parent)


def sync_to_disk(path: Path) -> None:
    """Have what was written to a file, or the names in a folder, on the disk.

    Raises:
        OSError: The disk refused.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def no_lock(path: Path, error: OSError) -> StateWriteError:
    """What to raise where a file system refuses a lock for another reason than its holder."""
    return StateWriteError(
        f"cannot lock {path}: {error.strerror}; some network file systems have no locks (flock): "
        "use a folder on a local disk"
    )
