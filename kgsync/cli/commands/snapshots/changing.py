"""`kgsync snapshots changing`: a static graph that changes by given shares."""

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
    loading,
)
from kgsync.errors import ConfigError

__all__ = ["COMMAND"]


def changing(
    files: Files,
    store: Store,
    change: Annotated[
        str,
        typer.Option(help="Shares of the triples that change, one per version after the first."),
    ] = "0.001,0.005,0.01,0.05",
    added: Annotated[float, typer.Option(help="Share of the changed triples that are added.")] = (
        0.6
    ),
    start: Annotated[float, typer.Option(help="Share of the facts in the first version.")] = 0.94,
    hidden: Annotated[
        float, typer.Option(help="Share of the entities that arrive after the first version.")
    ] = 0.02,
    seed: Annotated[int, typer.Option(help="Same seed, same versions.")] = 0,
    namespace: Namespace = NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Change a static graph by given shares: lines of `head relation tail`."""
    from kgsync.snapshots.changing import Changing, changing_versions
    from kgsync.snapshots.plain import read_static

    with loading(store, namespace, graphs, catalog, json) as load:
        how = Changing(_shares(change), added, start=start, hidden=hidden, seed=seed)
        versions = changing_versions(read_static(files, load.naming), how)
        load.load(versions, 1 + len(how.shares))


COMMAND = CommandDeclaration("changing", changing, place=5)


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(share) for share in text.split(","))
    except ValueError:
        raise ConfigError(f"--change must be numbers separated by commas, not {text!r}") from None
