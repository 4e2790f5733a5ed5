"""Free the disk space of deleted literals by rewriting the store; Oxigraph never frees it.

The copy is made in a folder of its own beside the store, `.NAME.kgsync-compacting-…`, as `store`.
Then both change places in one step, and the folder, with the old store in it, is removed. Where the
system cannot do that in one step, the old store first becomes `before` in that folder. So a folder
that has both `before` and `store` is that of a compaction that was killed between two moves: its
`before` belongs in the store's place. Any other may be removed.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox

from kgsync.common.durable import sync_to_disk
from kgsync.errors import PermanentStoreError, TransientStoreError

__all__ = ["bytes_on_disk", "compact", "finish_interrupted"]

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def compact(path: Path) -> None:
    """Replace the directory of a store that is not open by a fresh copy.

    It is locked until its successor has its place, so that nobody writes in between. A link to a
    directory stays one.

    Raises:
        TransientStoreError: Someone has it open; nothing was changed.
        PermanentStoreError: The copy is not the same, or the store is beside its place because
            something else has taken that; nothing was removed.
        OSError: The disk is full, or a directory cannot be moved; nothing was changed.
    """
    path = path.resolve()
    finish_interrupted(path)
    with _locked(path) as lock:
        for folder in _leftovers(path):
            _check_removable(folder, path)
            shutil.rmtree(folder, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_prefix(path), dir=path.parent))
        try:
            _copy(path, folder)
            _check_own(lock, path)
            _replace(path, folder, lock)
            sync_to_disk(path.parent)
        finally:
            finish_interrupted(path)
            if not _is_interrupted(folder):
                shutil.rmtree(folder, ignore_errors=True)


def finish_interrupted(path: Path) -> None:
    """Restore a store that a killed compaction has left next to its path."""
    path = path.resolve()
    if path.exists() or not path.parent.is_dir():
        return
    for folder in _leftovers(path):
        # Without its copy, that was in place: what has become of it since is not ours to undo.
        if _is_interrupted(folder):
            (folder / "before").rename(path)
            sync_to_disk(path.parent)
            return


def bytes_on_disk(path: Path) -> int:
    """The size of all files of a store."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


# -- copying ---------------------------------------------------------------------------------------


def _copy(path: Path, folder: Path) -> None:
    """Make a copy and flush it to disk."""
    fresh, dump = folder / "store", folder / "dump.nq"
    fresh.mkdir()
    shutil.copymode(path, fresh)
    _load(path, dump, fresh)
    dump.unlink()
    for file in (*fresh.rglob("*"), fresh, folder):
        sync_to_disk(file)


def _load(path: Path, dump: Path, fresh: Path) -> None:
    # Open for reading only, it neither needs the lock nor writes or removes files as it closes.
    store = ox.Store.read_only(str(path))
    store.dump(str(dump), format=ox.RdfFormat.N_QUADS)
    copy = ox.Store(str(fresh))
    copy.bulk_load(path=str(dump), format=ox.RdfFormat.N_QUADS, lenient=True)
    graphs = list(store.named_graphs())
    for graph in graphs:
        if next(store.quads_for_pattern(None, None, None, graph), None) is None:
            copy.add_graph(graph)  # it is in no quad
    copy.flush()
    for what, found, wanted in (
        ("quads", len(copy), len(store)),
        ("named graphs", sum(1 for _ in copy.named_graphs()), len(graphs)),
    ):
        if found != wanted:
            raise PermanentStoreError(
                f"the copy of {path} has {found:,} {what}, not {wanted:,}; nothing was changed"
            )


# -- moving ----------------------------------------------------------------------------------------


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    with (path / "LOCK").open("r+b") as lock:
        # The kind of lock that Oxigraph takes itself; those of kgsync are of another kind.
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise TransientStoreError(
                f"the Oxigraph store at {path} is in use; close it first"
            ) from None
        yield lock.fileno()


def _replace(path: Path, folder: Path, lock: int) -> None:
    """Replace the store by the copy."""
    fresh, before = folder / "store", folder / "before"
    if _exchanged(fresh, path):
        try:
            _check_own(lock, fresh)
        except PermanentStoreError:
            _exchanged(fresh, path)  # someone has put another store there just before
            raise
        return
    path.rename(before)
    try:
        _check_own(lock, before)
        sync_to_disk(folder)
        fresh.rename(path)
    except BaseException:
        if path.exists():
            _check_removable(folder, path)
        raise


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two directories atomically; False where the system does not support it."""
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    if not exchange(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def _check_own(lock: int, path: Path) -> None:
    """Make sure that the store at a path is the one whose lock is held."""
    own, there = os.fstat(lock), (path / "LOCK").stat()
    if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino):
        raise PermanentStoreError(
            "another store replaced the one that is being compacted; nothing was changed"
        )


# -- what was left ---------------------------------------------------------------------------------


def _prefix(path: Path) -> str:
    """The name prefix of kgsync's temporary folders."""
    return f".{path.name}.kgsync-compacting-"


def _leftovers(path: Path) -> list[Path]:
    prefix = _prefix(path)
    return [entry for entry in path.parent.iterdir() if entry.name.startswith(prefix)]


def _is_interrupted(folder: Path) -> bool:
    """Whether the folder holds the only store: a compaction was killed between two moves."""
    return (folder / "before" / "CURRENT").is_file() and (folder / "store").is_dir()


def _check_removable(folder: Path, path: Path) -> None:
    if _is_interrupted(folder):
        raise PermanentStoreError(
            f"a compaction was interrupted: the store is at {folder / 'before'}, but something "
            f"else is now in its place; move {path} away, then open the store again"
        )
