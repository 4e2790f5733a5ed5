"""Where compiled kernels may be kept: numba's files are pickles, so whoever writes one runs code.

A folder will do if nobody but this user, or root, can write it, its files, or exchange a folder on
the way to it. A folder that only its owner may enter keeps everything below it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["is_ours", "private_folder"]

_KERNELS = "*.nb[ic]"


@cache
def is_ours(folder: Path) -> bool:
    """Whether only this user, or root, can have written what is in a folder."""
    try:
        real = folder.resolve(strict=True)
        entered = any(_only_ours(parent.stat()) for parent in (real, *real.parents))
        return _unreachable(real) and all(
            _written_by_us(file.lstat(), any_mode=entered) for file in real.glob(_KERNELS)
        )
    except OSError:
        return False


def private_folder() -> Path | None:
    """A folder of this user's own for kernels, made if need be; None if there is no place."""
    for folder in _candidates():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            # Somebody else may have made it, or a link of that name, before.
            if folder.is_symlink() or not _only_ours(folder.stat()) or not _unreachable(folder):
                continue
            for file in folder.rglob(_KERNELS):
                if not _written_by_us(file.lstat(), any_mode=True):
                    file.unlink()
        except OSError:
            continue
        return folder
    return None


def _candidates() -> Iterator[Path]:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with suppress(RuntimeError):  # there is no home
        if caches.expanduser().is_absolute():
            yield caches.expanduser() / "kgsync-kernels"
    yield Path(tempfile.gettempdir()) / f"kgsync-kernels-of-{os.geteuid()}"


def _unreachable(folder: Path) -> bool:
    """Whether nobody else can write a folder, or put another one in its place."""
    real = folder.resolve()
    places = [(place, place.stat()) for place in (real, *real.parents)]
    # What is below the innermost folder that nobody else may enter is out of their reach.
    closed = next((i for i, (_, status) in enumerate(places) if _only_ours(status)), 0)
    for number, (_, status) in enumerate(places[closed:], start=closed):
        sticky = number > 0 and bool(status.st_mode & stat.S_ISVTX)
        if status.st_uid not in (0, os.geteuid()) or (_by_others(status) and not sticky):
            return False
    return True


def _only_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _by_others(status: os.stat_result) -> bool:
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _written_by_us(status: os.stat_result, *, any_mode: bool) -> bool:
    own = stat.S_ISREG(status.st_mode) and status.st_uid in (0, os.geteuid())
    return own and (any_mode or not _by_others(status))
