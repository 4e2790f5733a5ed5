"""The directory of a state and its small files, each JSON with a checksum of itself.

state.json    format, UUID, and the store whose embeddings the state holds
CURRENT       which version is current; its replacement is the commit
*.json        notes of the other rooms
"""

from __future__ import annotations

import errno
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgsync.common.durable import read_json, unsealed, write_sealed
from kgsync.errors import StateCorruptedError, StateError, StateWriteError
from kgsync.graph.stores import checked_path

__all__ = ["Pointer", "StateFolder"]

_FORMAT = 1
_IDENTITY, _CURRENT = "state.json", "CURRENT"
_REMEDY = "restore the state from a backup, or start over in another state directory"


@dataclass(frozen=True)
class Pointer:
    """Which version is current, and the highest number ever given."""

    version: int | None
    highest: int
    is_sealed: bool = True
    """Whether the file has a checksum; older versions of kgsync wrote none."""

    @classmethod
    def read(cls, path: Path) -> Pointer:
        """What the file says.

        Raises:
            OSError: It cannot be read.
            ValueError: It is damaged.
        """
        content = json.loads(path.read_text(encoding="utf-8"))
        values = unsealed(content)
        # A flipped bit in a name makes another name of it, also of that of the checksum.
        if not isinstance(values, dict) or set(values) != {"version", "highest"}:
            raise ValueError("it is not what kgsync wrote")
        if not _is_possible(**values):
            raise ValueError("its numbers are impossible")
        return cls(**values, is_sealed="sha256" in content)

    def write(self, path: Path) -> None:
        """Replace the file atomically.

        Raises:
            OSError: Writing to disk failed.
        """
        write_sealed(path, {"version": self.version, "highest": self.highest}, "\n")


class StateFolder:
    """A state directory without its versions."""

    def __init__(self, path: Path, store: str | None = None) -> None:
        """Use a directory; nothing is read or created yet.

        Args:
            path: The directory.
            store: The store whose embeddings it holds; None if unknown.

        Raises:
            ConfigError: The path is not valid for a directory.
        """
        self.path = Path(checked_path(path))
        self._store = store

    @property
    def workspace(self) -> Path:
        """Folder in which an adapter may cache things."""
        return self.path / "endpoint"

    @property
    def exists(self) -> bool:
        """Whether the directory holds a state, even a damaged one."""
        if (self.path / _IDENTITY).exists():
            return True
        # A process killed while it made the state leaves a pointer to nothing.
        return (self.path / _CURRENT).exists() and self._pointer().highest > 0

    @property
    def uuid(self) -> str:
        """The UUID that marks what this state has published.

        Raises:
            StateCorruptedError: The file is damaged.
            StateError: The state is of another format or of another store.
        """
        data, path = self._identity(), self.path / _IDENTITY
        if None not in (self._store, data["store"]) and data["store"] != self._store:
            raise StateError(
                f"the state in {path.parent} belongs to the store {data['store']}, not to "
                f"{self._store}; choose another state directory (state.path), or, if that store "
                f'has moved, correct "store" in {path} and remove its "sha256"'
            )
        return str(data["uuid"])

    def check_identity(self) -> None:
        """Check that this is a state of this store, in a known format.

        Raises:
            StateError: It is not.
        """
        _ = self.uuid

    def recall(self, name: str) -> Any:
        """The note of a name; None if there is none, or it is damaged."""
        try:
            return unsealed(json.loads((self.path / name).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None  # it is only found out once more

    def remember(self, name: str, value: dict[str, Any]) -> None:
        """Store a note, as JSON with a checksum; only called under the lock."""
        with self.writing(name):
            write_sealed(self.path / name, value)

    def forget(self, name: str) -> None:
        """Delete a note; only called under the lock."""
        with self.writing(name):
            (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """Turn a failed write into an error that says what is still safe."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            remedy = "free some space" if full else "check the directory and its permissions"
            raise StateWriteError(
                f"cannot write {what} in {self.path}: {error}; {remedy} and run the step again. "
                "The last committed version is untouched"
            ) from error

    def _identity(self) -> dict[str, Any]:
        path = self.path / _IDENTITY
        try:
            data: dict[str, Any] = unsealed(read_json(path, _REMEDY))
        except ValueError as error:
            raise StateCorruptedError(f"{path} is damaged: {error}; {_REMEDY}") from None
        if data.get("format", _FORMAT) != _FORMAT:
            raise StateError(
                f"the state in {path.parent} has format {data['format']}, this kgsync reads "
                f"{_FORMAT}; use the kgsync that wrote it, or another state directory"
            )
        # A flipped bit in a name makes another name of it, also of that of the checksum.
        if not {"format", "uuid"} <= set(data) <= {"format", "uuid", "store"}:
            raise StateCorruptedError(f"{path} is not what kgsync wrote; {_REMEDY}")
        if not isinstance(data["uuid"], str):
            raise StateCorruptedError(f"{path} is not what kgsync wrote; {_REMEDY}")
        return {"store": None, **data}

    def _create_identity(self) -> None:
        identity = {"format": _FORMAT, "uuid": str(uuid.uuid4()), "store": self._store}
        write_sealed(self.path / _IDENTITY, identity)

    def _reseal_identity(self) -> None:
        """Add the checksum that older versions of kgsync did not write."""
        write_sealed(self.path / _IDENTITY, self._identity())

    def _pointer(self) -> Pointer:
        path = self.path / _CURRENT
        try:
            return Pointer.read(path)
        except (OSError, ValueError) as error:
            raise StateCorruptedError(f"cannot read {path}: {error}; {self._remedy()}") from error

    def _pointer_or_none(self) -> Pointer | None:
        """The pointer, or None if CURRENT is damaged."""
        with suppress(StateCorruptedError):
            return self._pointer()
        return None

    def _point(self, version: int | None, highest: int) -> Pointer:
        """Replace CURRENT."""
        pointer = Pointer(version, highest)
        pointer.write(self.path / _CURRENT)
        return pointer

    def _remedy(self) -> str:
        shown = self.recall("current.json") or {}
        which = f" (current.json names version {shown['version']})" if "version" in shown else ""
        return (
            f"no version is lost: choose one with `kgsync rollback`{which}, or "
            "restore the file from a backup, or retrain with `kgsync rebuild`"
        )


def _is_possible(version: Any, highest: Any) -> bool:
    if type(highest) is not int or highest < 0:
        return False
    return version is None or (type(version) is int and 0 < version <= highest)
