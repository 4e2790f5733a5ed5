"""Read files, compressed or not, within limits that no legitimate file exceeds."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["LONGEST_LINE", "READ_ERRORS", "open_file", "read_lines_of"]

READ_ERRORS = (EOFError, OSError, zlib.error)
"""What reading an opened file may raise; the first if a compressed file ends too early."""

LONGEST_LINE = 64 << 20
"""Bytes without the end of a line or statement. Terms beyond 16 MiB are refused by pyoxigraph, and
the largest literals in use, outlines of countries, have a few MiB."""

EXPANSION = 10_000
"""Bytes that one compressed byte may stand for, once there are more than `EXPANDED` of them.

A triple that differs from the one before takes some bytes, whatever the compression: ordinary dumps
come to 10 to 250, texts of 20 kB that are repeated for every subject to 2,000 with zstd -22. Only
the same bytes over and over give more: 1,000,000 with bzip2, 40,000 with zstd (1,032 with gzip,
which therefore needs no bound)."""
EXPANDED = 256 << 20
"""Files that expand to less than this are always accepted."""


_CHUNK = 1 << 16


def open_file(path: Path) -> IO[bytes]:
    """A file's bytes, uncompressed.

    Raises:
        EOFError: A compressed file is shorter than its magic number.
    """
    kind = path.suffix.lower()
    if kind not in _OPENERS:
        return path.open("rb")
    size = path.stat().st_size
    if size < 4:
        raise EOFError(f"{path} has only {size} bytes")
    return io.BufferedReader(_Expanded(_OPENERS[kind](path), size), 1 << 17)


def read_lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of an open file, none longer than `LONGEST_LINE`.

    Raises:
        OSError: One is.
    """
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise OSError(f"it has a line longer than {LONGEST_LINE >> 20} MiB")
        yield line


class _Expanded(io.RawIOBase):
    """What a compressed file becomes; an error if that is out of all proportion to its size."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._total = stream, 0
        self._most = max(EXPANDED, EXPANSION * size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._total += len(data)
        if self._total > self._most:
            raise OSError(
                f"it expands to more than {self._most >> 20:,} MiB, {EXPANSION:,} times its size, "
                "when decompressed; if that is correct, decompress it first"
            )
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Bzip2:
    """A bzip2 file, of one stream or more; Python's own reader passes over a damaged one."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._stream = bz2.BZ2Decompressor()

    def read(self, size: int) -> bytes:
        while True:
            data = b""
            if self._stream.eof:
                data = self._stream.unused_data or self._file.read(_CHUNK)
                if not data:
                    return b""
                self._stream = bz2.BZ2Decompressor()
            elif self._stream.needs_input:
                data = self._file.read(_CHUNK)
                if not data:
                    raise EOFError("the compressed stream ends too early")
            found = self._stream.decompress(data, size)
            if found:
                return found

    def close(self) -> None:
        self._file.close()


class _Watched(io.FileIO):
    """A file that knows whether somebody has read beyond its end."""

    exhausted = False

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.exhausted = self.exhausted or not data
        return data


class _Zstandard:
    """A Zstandard file, of one frame or more, by way of Arrow."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa  # the command line starts without it

        self._file = _Watched(path)
        self._stream = pa.input_stream(self._file, compression="zstd", buffer_size=0)

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except OSError as error:
            # Damage shows before the end of the file; what is cut off, when no more comes.
            if self._file.exhausted:
                raise EOFError(str(error)) from error
            raise

    def close(self) -> None:
        self._stream.close()
        self._file.close()


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".bz2": _Bzip2,
    ".gz": gzip.open,
    ".zst": _Zstandard,
}
