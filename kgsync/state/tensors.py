"""Writing safetensors files: the same tables give the same bytes.

The library writes the metadata of the header in an order that varies between runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["dump_tensors", "write_tensors"]

_TYPES = {"f4": "F32", "f8": "F64", "i4": "I32", "i8": "I64", "u8": "U64", "b1": "BOOL"}
_ALIGNED = 8


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
