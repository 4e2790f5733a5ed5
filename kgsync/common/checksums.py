"""What a version records about its files, and how they are looked at again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgsync.errors import StateCorruptedError

__all__ = [
    "FOLDER",
    "read_json",
    "recorded",
    "sha256_of",
    "sidecar_files",
]

FOLDER = "embeddings"
"""Of the sidecar files, in the folder of a version."""


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
        StateCorruptedError: It cannot be read, or is no JSON object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StateCorruptedError(f"cannot read {path}: {error}; {remedy}") from error
    if not isinstance(content, dict):
        raise StateCorruptedError(f"{path} is not what kgsync wrote; {remedy}")
    return content
