"""Arrays of an untrusted .npz file: checked before memory is allocated."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from kgsync.common.memory import available_bytes

__all__ = ["read_npz"]

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npz(path: Path, names: Iterable[str]) -> dict[str, Any]:
    """Some arrays of a file by name.

    Raises:
        KeyError: One is not there.
        ValueError: The file is damaged, or an array is not one of plain values, is not as large as
            it says, or is larger than memory.
        OSError: The file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.getinfo(f"{name}.npy") for name in names}
            _check_memory(sum(member.file_size for member in members.values()))
            return {name: _array(archive, member) for name, member in members.items()}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"the file is damaged ({error})") from error
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression; a password
        raise ValueError(f"the file cannot be unpacked ({error})") from error


def _check_memory(size: int) -> None:
    # Strings are copied once: to Python's own.
    available = available_bytes()
    if available is not None and size > available // 2:
        raise ValueError(f"its arrays take {size:,} bytes, more than half of the free memory")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as stream:
        try:
            shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
        except (ValueError, KeyError, RecursionError) as error:
            raise ValueError(f"{member.filename} has a header that cannot be read") from error
        size = member.file_size - stream.tell()
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are never loaded")
        if size != prod(shape) * dtype.itemsize:
            raise ValueError(
                f"{member.filename} does not have the shape {shape} that its header declares"
            )
        data = bytearray(stream.read(size))
        if len(data) != size:
            raise ValueError(f"{member.filename} is truncated")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
