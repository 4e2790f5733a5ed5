"""Give back the disk space of deleted literals: Oxigraph never does, only writing it all anew."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

import pyoxigraph as ox

from kgsync.durable import sync_to_disk
from kgsync.errors import PermanentStoreError, TransientStoreError

__all__ = ["bytes_on_disk", "compact", "finish_interrupted"]

_ROLES = ("compacting", "before", "done", "compacting.nq")


def compact(path: Path) -> None:
    """Replace the directory of a store that nobody has open by a fresh copy.

    It is locked until its successor has its place, so that nobody writes in between; only then
    does it get the name under which it is removed. A link to a directory stays one.

    Raises:
        TransientStoreError: Someone has it open; nothing was changed.
        PermanentStoreError: The copy is not the same, or the store is beside its place because
            something else has taken that; nothing was removed.
        OSError: The disk is full, or a directory cannot be moved; nothing was changed.
    """
    path = path.resolve()
    fresh, before, done, dump = (_beside(path, role) for role in _ROLES)
    _check_place(path, before)
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(done, ignore_errors=True)
    with (path / "LOCK").open("r+b") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TransientStoreError(f"the Oxigraph store at {path} is in use") from None
        try:
            _copy(path, dump, fresh)
            path.rename(before)
            try:
                fresh.rename(path)
            except OSError:
                _check_place(path, before)
                raise
            before.rename(done)
            sync_to_disk(path.parent)
        finally:
            dump.unlink(missing_ok=True)
            shutil.rmtree(fresh, ignore_errors=True)
            finish_interrupted(path)
    shutil.rmtree(done)


def finish_interrupted(path: Path) -> None:
    """Put a store back that a compaction, killed between two moves, has left beside its place."""
    path = path.resolve()
    before = _beside(path, "before")
    if not path.exists() and (before / "CURRENT").is_file():
        before.rename(path)
        sync_to_disk(path.parent)


def bytes_on_disk(path: Path) -> int:
    """The size of all files of a store."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _beside(path: Path, role: str) -> Path:
    """A name that is nobody else's; what has one, except `before`, may be removed."""
    return path.with_name(f".{path.name}.kgsync-{role}")


def _check_place(path: Path, before: Path) -> None:
    """Refuse to go on while there are two directories, of which one is the only copy."""
    if path.exists() and before.exists():
        raise PermanentStoreError(
            f"a compaction was interrupted: the store is at {before}, unless {path} holds the same "
            f"already; move one of them away, and the right one to {path}"
        )


def _copy(path: Path, dump: Path, fresh: Path) -> None:
    # Open for reading only, it neither needs the lock nor writes or removes files as it closes.
    store = ox.Store.read_only(str(path))
    store.dump(str(dump), format=ox.RdfFormat.N_QUADS)
    copy = ox.Store(str(fresh))
    copy.bulk_load(path=str(dump), format=ox.RdfFormat.N_QUADS, lenient=True)
    copy.flush()
    if len(copy) != len(store):
        raise PermanentStoreError(
            f"a copy of {path} has {len(copy):,} quads, not {len(store):,}; nothing was changed"
        )
