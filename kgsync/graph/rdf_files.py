"""Files with RDF in them: how they are named, and opening them, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from pathlib import Path
from typing import IO, cast

__all__ = [
    "CHANGE",
    "DUMPS",
    "PATCHES",
    "READ_ERRORS",
    "bare_name",
    "holds_rdf",
    "is_rdf",
    "open_file",
]

DUMPS = (".nt", ".nq", ".ttl", ".trig")
PATCHES = (".patch", ".rdfp")
CHANGE = re.compile(r"(\d+)\.(added|removed|clear|reinserted)\.nt(?:\.gz|\.bz2)?")
"""Name of a file with one part of a numbered change."""

READ_ERRORS = (EOFError, OSError, zlib.error)
"""What reading an opened file may raise; the first if a compressed file ends too early."""

_COMPRESSED = (".bz2", ".gz")
_YEAR = re.compile(r"\d{4}")


def bare_name(path: Path) -> Path:
    """The path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix in _COMPRESSED else path


def holds_rdf(path: Path) -> bool:
    """Whether a path is a file, or a folder with dumps, patches or changes; looks at names only."""
    try:
        if not path.is_dir():
            return path.is_file() or is_rdf(path)
        # An embedded store has files of any name in it, and is none of these.
        return not (path / "CURRENT").exists() and any(map(_is_part, path.iterdir()))
    except OSError:
        return False


def is_rdf(path: Path) -> bool:
    """Whether the name is one of a dump or a patch."""
    return bare_name(path).suffix in DUMPS + PATCHES


def _is_part(path: Path) -> bool:
    if path.is_dir():
        return bool(_YEAR.fullmatch(path.name)) or path.name == "changes"
    return is_rdf(path)


def open_file(path: Path) -> IO[bytes]:
    """A file's bytes, uncompressed."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path))
    return cast("IO[bytes]", bz2.open(path)) if path.suffix == ".bz2" else path.open("rb")
