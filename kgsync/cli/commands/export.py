"""`kgsync export`: export vectors for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, At, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.common.wording import counted

if TYPE_CHECKING:
    from kgsync.models.base import Kind

__all__ = ["COMMAND"]


def export(
    file: Annotated[
        Path,
        typer.Argument(help="Its suffix sets the format: .vec, .txt, .npz, .usearch, .parquet."),
    ],
    format_: Annotated[
        str | None, typer.Option("--format", help="word2vec, npz, usearch or parquet.")
    ] = None,
    kind: Annotated[str, typer.Option(help="Kind of the vectors: entity or relation.")] = (
        "entity"
    ),
    at: At = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Export the vectors for other tools: word2vec text, npz, Parquet, usearch index."""
    output.json = json
    from kgsync.vectors.embeddings import load
    from kgsync.vectors.export import format_of

    with opened_sync(config) as sync:
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
    output.text(f"wrote {written}: {counted(rows, 'vector')} of version {embeddings.version}")


COMMAND = CommandDeclaration("export", export, place=5, panel=Panel.USE)
