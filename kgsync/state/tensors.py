"""Safetensors files: the same tables give the same bytes, and they are read memory-mapped.

The library writes the metadata of the header in an order that varies between runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import StateCorruptedError

__all__ = ["dump_tensors", "map_tables", "write_tensors"]

_TYPES = {"f4": "F32", "f8": "F64", "i4": "I32", "i8": "I64", "u8": "U64", "b1": "BOOL"}
_ALIGNED = 8
_LENGTH = 8
"""Bytes of the number that a file begins with: how long its header is."""


class WritableFile(Protocol):
    """Takes bytes."""

    def write(self, data: Any, /) -> int | None:
        """Take some."""


def write_tensors(
    path: Path, tables: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tables into a safetensors file.

    Args:
        path: The file.
        tables: Arrays by name.
        metadata: Texts for the header.

    Raises:
        OSError: Writing to disk failed.
    """
    with path.open("wb") as file:
        dump_tensors(file, tables, metadata)


def dump_tensors(
    file: WritableFile,
    tables: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tables into an open file; see `write_tensors`."""
    # Wide numbers first, as the library has it: then every table begins at a multiple of its width.
    order = sorted(tables, key=lambda name: (-tables[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    for name in order:
        table = tables[name]
        begin, end = end, end + table.nbytes
        dtype = _TYPES[table.dtype.str[1:]]
        header[name] = {"dtype": dtype, "shape": table.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNED)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        table = tables[name]
        file.write(np.ascontiguousarray(table, table.dtype.newbyteorder("<")).data)


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
