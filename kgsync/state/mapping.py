"""Memory-mapped tables of a safetensors file."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import StateCorruptedError

__all__ = ["map_tables"]

_LENGTH = 8
"""Bytes of the number that a file begins with: how long its header is."""


def map_tables(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 tables of a file by name, memory-mapped and read-only.

    Raises:
        StateCorruptedError: The file is missing, truncated, or not written by kgsync.
    """
    try:
        header, start = _header(path)
        size = path.stat().st_size
        tables = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            first, last = (start + int(offset) for offset in entry["data_offsets"])
            shape = tuple(entry["shape"])
            if entry["dtype"] != "F32" or last > size or last - first != 4 * prod(shape):
                raise ValueError(f"the table {name} is not where the header says")
            tables[name] = np.memmap(path, "<f4", mode="r", offset=first, shape=shape)
    except OSError as error:
        raise StateCorruptedError(
            f"cannot read {path}: {error.strerror}; copy the folder again or restore it from a "
            "backup"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateCorruptedError(
            f"{path} is truncated or damaged ({error}); copy the folder again or restore it from "
            "a backup"
        ) from error
    return dict(tables)


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a file, and where the data begins."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if length > path.stat().st_size:
            raise ValueError("its header is longer than the file")
        header: dict[str, Any] = json.loads(file.read(length))
    return header, _LENGTH + length
