"""state.json: the format of a state, its UUID, and the store whose embeddings it holds."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from kgsync.common.checksums import read_json
from kgsync.common.durable import sealed, unsealed, write_file
from kgsync.errors import StateCorruptedError, StateError

__all__ = ["FORMAT", "create_identity", "reseal_identity", "uuid_of"]

FORMAT = 1
_REMEDY = "restore the state from a backup, or start over in another state directory"


def create_identity(path: Path, store: str | None) -> None:
    """Give a new state its identity.

    Raises:
        OSError: Writing to disk failed.
    """
    identity = {"format": FORMAT, "uuid": str(uuid.uuid4()), "store": store}
    write_file(path, json.dumps(sealed(identity)))


def reseal_identity(path: Path) -> None:
    """Add the checksum that older versions of kgsync did not write.

    Raises:
        OSError: Writing to disk failed.
        StateCorruptedError: The file is damaged.
    """
    write_file(path, json.dumps(sealed(_identity(path))))


def uuid_of(path: Path, store: str | None) -> str:
    """The UUID in a state.json.

    Args:
        path: The file.
        store: The store that the state should belong to; None if unknown.

    Raises:
        StateCorruptedError: The file is damaged.
        StateError: The state is of another format or of another store.
    """
    data = _identity(path)
    if None not in (store, data["store"]) and data["store"] != store:
        raise StateError(
            f"the state in {path.parent} belongs to the store {data['store']}, not to {store}; "
            "choose another state directory (state.path), or, if that store has moved, correct "
            f'"store" in {path} and remove its "sha256"'
        )
    return str(data["uuid"])


def _identity(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = unsealed(read_json(path, _REMEDY))
    except ValueError as error:
        raise StateCorruptedError(f"{path} is damaged: {error}; {_REMEDY}") from None
    if data.get("format", FORMAT) != FORMAT:
        raise StateError(
            f"the state in {path.parent} has format {data['format']}, this kgsync reads "
            f"{FORMAT}; use the kgsync that wrote it, or another state directory"
        )
    # A flipped bit in a name makes another name of it, also of that of the checksum.
    if not {"format", "uuid"} <= set(data) <= {"format", "uuid", "store"}:
        raise StateCorruptedError(f"{path} is not what kgsync wrote; {_REMEDY}")
    if not isinstance(data["uuid"], str):
        raise StateCorruptedError(f"{path} is not what kgsync wrote; {_REMEDY}")
    return {"store": None, **data}
