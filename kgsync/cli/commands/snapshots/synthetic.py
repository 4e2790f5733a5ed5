"""`kgsync snapshots synthetic`: samples of a static graph."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration
from kgsync.cli.options import Json
from kgsync.cli.snapshot_loading import (
    NAMESPACE,
    Catalog,
    Files,
    Graphs,
    Namespace,
    Store,
    Versions,
    loading,
)

__all__ = ["COMMAND"]


def synthetic(
    files: Files,
    store: Store,
    versions: Versions = 20,
    elements: Annotated[
        float, typer.Option(help="Share of the entities, and of the relations, in each version.")
    ] = 0.995,
    share: Annotated[float, typer.Option(help="Share of the facts between them.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Same seed, same versions.")] = 0,
    namespace: Namespace = NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Sample versions of a static graph: lines of `head relation tail`."""
    from kgsync.snapshots.plain import read_static
    from kgsync.snapshots.synthetic import synthetic_versions

    with loading(store, namespace, graphs, catalog, json) as load:
        facts = read_static(files, load.naming)
        load.load(synthetic_versions(facts, versions, elements, share, seed), versions)


COMMAND = CommandDeclaration("synthetic", synthetic, place=4)
