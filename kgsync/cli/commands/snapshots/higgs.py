"""`kgsync snapshots higgs`: versions from the Higgs Twitter data."""

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
    MinDegree,
    Namespace,
    Share,
    Store,
    Versions,
    loading,
)

__all__ = ["COMMAND"]


def higgs(
    folder: Annotated[Path, typer.Argument(help="Folder with SNAP's Higgs files.")],
    store: Store,
    versions: Versions = 20,
    share: Share = 0.5,
    min_degree: MinDegree = 1,
    namespace: Namespace = NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Slide a window over the Higgs Twitter data; follow edges get their users' first time."""
    from kgsync.snapshots.higgs import read_higgs

    with loading(store, namespace, graphs, catalog, json) as load:
        load.windows(lambda naming: read_higgs(folder, naming), versions, share, min_degree)


COMMAND = CommandDeclaration("higgs", higgs, place=3)
