"""`kgsync snapshots changes`: versions from files of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration
from kgsync.cli.options import Json
from kgsync.cli.snapshot_loading import (
    NAMESPACE,
    Catalog,
    Graphs,
    Namespace,
    Store,
    loading,
)

__all__ = ["COMMAND"]


def changes(
    folder: Annotated[
        Path, typer.Argument(help="Folder with base.nt and changes/NNNN.{added,removed}.nt.")
    ],
    store: Store,
    graphs: Graphs = None,
    namespace: Namespace = NAMESPACE,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Load a history of N-Triples files: a base, then what each version added and removed."""
    from kgsync.snapshots.changes import ChangeFiles

    with loading(store, namespace, graphs, catalog, json) as load:
        files = ChangeFiles.find(folder)
        load.load(files.versions(), len(files))


COMMAND = CommandDeclaration("changes", changes, place=6)
