"""File locks between processes, released by the system when the holder dies."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from kgsync.common.retrying import Retry
from kgsync.errors import StateWriteError

__all__ = ["NO_WAIT", "HeldError", "NoLocksError", "is_held", "take_lock"]

NO_WAIT = Retry(1, transient=(BlockingIOError,))


class HeldError(Exception):
    """Another process holds the lock."""


class NoLocksError(StateWriteError):
    """Locking failed, and not because another process holds the lock."""


def take_lock(file: int | IO[bytes] | IO[str], path: Path, retry: Retry | None = NO_WAIT) -> None:
    """Lock an open file until it is closed.

    Args:
        file: The open file.
        path: Where it is, for messages.
        retry: How long to try; None waits for as long as another process has it.

    Raises:
        HeldError: Another process holds it.
        NoLocksError: The file system does not support locks.
    """
    try:
        if retry is None:
            fcntl.flock(file, fcntl.LOCK_EX)
        else:
            retry.call(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        raise HeldError(str(path)) from None
    except OSError as error:
        raise NoLocksError(
            f"cannot lock {path}: {error.strerror}; some network file systems do not support "
            "locks (flock): use a folder on a local disk"
        ) from error


def is_held(path: Path) -> bool:
    """Whether a process has the lock of a file; asking takes it for a moment."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the file does not exist or locks are not supported: not held
        return False
    return False
