"""`kgsync export`: export vectors for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from kgsync.cli.output import output
from kgsync.sync import KGSync
from kgsync.vectors.embeddings import load
from kgsync.vectors.export import format_of

if TYPE_CHECKING:
    from kgsync.models.base import Kind

__all__ = ["export_vectors"]


def export_vectors(
    sync: KGSync, file: Path, format_: str | None, kind: str, at: int | None, *, force: bool
) -> None:
    """Write the vectors of a version to a file and print its name.

    Raises:
        ConfigError: The format or kind is unknown, or the file already exists.
        StateError: There is no such version, or its files are gone or damaged.
    """
    chosen = format_of(file, format_)
    embeddings = load(sync.state.version(sync.at(at).version).path)
    files = embeddings.export(file, chosen, cast("Kind", kind), force=force)
    rows, dimension = embeddings.table(cast("Kind", kind)).shape
    output.data(
        {
            "version": embeddings.version,
            "graph_version": embeddings.graph_version,
            "format": chosen,
            "kind": kind,
            "rows": rows,
            "dimension": dimension,
            "files": [str(each) for each in files],
        }
    )
    written = " and ".join(str(each) for each in files)
    output.text(f"wrote {written}: {rows:,} vectors of version {embeddings.version}")
