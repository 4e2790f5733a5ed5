"""`kgsync snapshots nell`: versions from NELL's beliefs."""

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


def nell(
    file: Annotated[Path, typer.Argument(help="NELL's beliefs, `NELL.*.esv.csv`.")],
    store: Store,
    versions: Versions = 20,
    share: Share = 0.5,
    min_degree: MinDegree = 5,
    namespace: Namespace = NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Slide a window over NELL's beliefs, by their iteration of promotion."""
    from kgsync.snapshots.nell import read_nell

    with loading(store, namespace, graphs, catalog, json) as load:
        load.windows(lambda naming: read_nell(file, naming), versions, share, min_degree)


COMMAND = CommandDeclaration("nell", nell, place=2)
