"""Finding and opening input files, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kgsync.errors import ConfigError
from kgsync.graph.files.rdf_bytes import READ_ERRORS, open_file, read_lines_of
from kgsync.graph.files.rdf_files import COMPRESSED

__all__ = ["check_file", "find_file", "first_fields", "open_bytes"]


def check_file(path: Path) -> None:
    """Check that a file exists.

    Raises:
        ConfigError: It does not exist.
    """
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")


def find_file(folder: Path, name: str) -> Path:
    """A file of a folder, which may be compressed.

    Raises:
        ConfigError: It does not exist.
    """
    for candidate in (folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED)):
        if candidate.is_file():
            return candidate
    raise ConfigError(f"there is no file {name} in {folder}, also not as {', '.join(COMPRESSED)}")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """A file's bytes, decompressed.

    Raises:
        ConfigError: The file is missing or damaged.
    """
    check_file(path)
    try:
        with open_file(path) as opened:
            yield opened
    except READ_ERRORS as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def first_fields(path: Path) -> tuple[list[str], str]:
    """The fields of the first row, and what delimits them: a tab if there is one, else a space.

    Raises:
        ConfigError: The file is missing, empty or damaged.
    """
    with open_bytes(path) as lines:
        first = next((line for line in read_lines_of(lines) if line.strip()), b"")
    if not first:
        raise ConfigError(f"{path} is empty")
    text = first.decode("utf-8", "replace").rstrip("\r\n")
    delimiter = "\t" if "\t" in text else " "
    return text.split(delimiter), delimiter
