"""Export of vectors in the formats of other tools."""

from __future__ import annotations

import errno
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kgsync.common.durable import UNFINISHED, unfinished
from kgsync.errors import ConfigError, StateWriteError
from kgsync.publish.literals.datatypes.parts.numbers import joined_numbers

__all__ = ["FORMATS", "export", "format_of"]

Table = NDArray[np.float32]
TablesByKind = Mapping[str, tuple[Any, Table]]
""""entity" and "relation" -> IRIs (an Arrow string array), and a row for each."""

_AT_A_TIME = 1 << 20
"""Numbers that are turned into text at a time."""
_LARGEST_NAMES = 1 << 31
"""Bytes of the IRIs of a kind in an npz file, where numpy reads them without further ado."""
_WRONG_PATH = {
    errno.EACCES,
    errno.EINVAL,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""Errors of a path, not of the disk."""
_SUFFIXES = {
    ".vec": "word2vec",
    ".vec.gz": "word2vec",
    ".txt": "word2vec",
    ".txt.gz": "word2vec",
    ".npz": "npz",
    ".usearch": "usearch",
    ".parquet": "parquet",
}


def export(
    path: Path, vectors: TablesByKind, kind: str, format_: str | None = None, *, force: bool = False
) -> list[Path]:
    """Write vectors in another format. A file appears only once it is complete.

    Args:
        path: The file.
        vectors: What there is.
        kind: Whose vectors are written; "npz" holds both kinds.
        format_: One of `FORMATS`; by default from the suffix.
        force: Overwrite existing files.

    Returns:
        The files that were written.

    Raises:
        ConfigError: The format is unknown or too small for such IRIs, a file is there already, or
            usearch is missing, or nothing can be written at the path.
        StateWriteError: Writing to disk failed.
    """
    writer = FORMATS[format_of(path, format_)]
    files = [path, *(_beside(path, suffix) for suffix in writer.beside)]
    for file in files:
        if file.exists() and not force:
            raise ConfigError(f"{file} already exists; overwrite it with --force")
    try:
        with unfinished(*files) as new:
            writer.write(new, vectors if writer.both else {kind: vectors[kind]})
    except OSError as error:
        told = f"cannot write {path}: {error.strerror or error}"
        if error.errno in _WRONG_PATH:
            raise ConfigError(f"{told}; choose another path") from error
        raise StateWriteError(f"{told}; check the space on the disk") from error
    return files


def format_of(path: Path, format_: str | None = None) -> str:
    """The given format, or the one of the file's suffix.

    Raises:
        ConfigError: There is no such format, or the name stands for none.
    """
    if format_ is None:
        for suffix, name in _SUFFIXES.items():
            if path.name.lower().endswith(suffix):
                return name
        raise ConfigError(
            f"the name {path.name} has no known suffix; choose one of {', '.join(FORMATS)}, or "
            f"use a suffix of {', '.join(_SUFFIXES)}"
        )
    if format_ not in FORMATS:
        raise ConfigError(f"unknown format {format_!r}; choose one of {', '.join(FORMATS)}")
    return format_


def _write_word2vec(files: list[Path], vectors: TablesByKind) -> None:
    ((iris, table),) = vectors.values()
    (path,) = files
    with _opened(path) as file:
        file.write(f"{len(table)} {table.shape[1]}\n".encode())
        step = max(1, _AT_A_TIME // table.shape[1])
        for start in range(0, len(table), step):
            rows = table[start : start + step]
            texts = joined_numbers(rows, " ")
            lines = pc.binary_join_element_wise(iris[start : start + step], texts, " ")
            whole = pa.ListArray.from_arrays(np.array([0, len(lines)], np.int32), lines)
            file.write(pc.binary_join(whole, "\n")[0].as_buffer())
            file.write(b"\n")


def _write_npz(files: list[Path], vectors: TablesByKind) -> None:
    arrays: dict[str, Any] = {}
    for each, (iris, table) in vectors.items():
        longest = pc.max(pc.utf8_length(iris)).as_py() or 0
        size = np.dtype(f"U{max(1, longest)}").itemsize * len(iris)
        if size > _LARGEST_NAMES:
            raise ConfigError(
                f"the IRIs of kind {each} would take {size / 2**30:.1f} GB in an npz file, where "
                f"each takes as much room as the longest, of {longest:,} characters; export them "
                "as parquet"
            )
        arrays[f"{each}_iris"] = np.array(iris.to_pylist(), dtype=np.str_)
        arrays[f"{each}_vectors"] = table
    with files[0].open("wb") as file:
        np.savez(file, **arrays)


def _write_parquet(files: list[Path], vectors: TablesByKind) -> None:
    ((iris, table),) = vectors.values()
    lists = pa.FixedSizeListArray.from_arrays(pa.array(table.reshape(-1)), table.shape[1])
    columns = pa.table({"iri": iris, "vector": lists})
    pq.write_table(columns, files[0], compression="zstd")


def _write_usearch(files: list[Path], vectors: TablesByKind) -> None:
    try:
        from usearch.index import Index
    except ImportError:
        raise ConfigError("an index needs usearch; install kgsync[index]") from None
    ((iris, table),) = vectors.values()
    keys = np.arange(len(table), dtype=np.uint64)
    index = Index(ndim=table.shape[1], metric="cos", dtype="f32")
    index.add(keys, np.asarray(table))
    path, names = files
    try:
        index.save(str(path))
    except RuntimeError as error:
        path.touch()  # usearch does not say why the write failed, this may
        raise OSError(str(error)) from error
    pq.write_table(pa.table({"key": keys, "iri": iris}), names, compression="zstd")


@dataclass(frozen=True)
class _Writer:
    write: Callable[[list[Path], TablesByKind], None]
    beside: tuple[str, ...] = ()
    """How the names of further files end."""
    both: bool = False
    """Whether entities and relations go into one file."""


FORMATS = {
    "word2vec": _Writer(_write_word2vec),
    "npz": _Writer(_write_npz, both=True),
    "usearch": _Writer(_write_usearch, (".iris.parquet",)),
    "parquet": _Writer(_write_parquet),
}
"""Name -> how it is written."""


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.removesuffix(".usearch") + suffix)


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.name.lower().endswith(f".gz{UNFINISHED}"):
        return gzip.open(path, "wb", compresslevel=6)
    return path.open("wb")
