"""`kgsync rollback`: make an older version current again."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output

__all__ = ["COMMAND"]


def rollback(
    version: Annotated[int, typer.Argument(help="Number of a version that still has its files.")],
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Make an older version current again, in the state and in the store.

    The next step continues from that version and takes the later graph versions again.
    """
    output.json = json
    with opened_sync(config) as sync:
        again = not sync.state.is_current(version)
        sync.rollback(version)
        found = sync.status()
    output.data(found.to_json())
    if again:
        output.text(f"version {found.version} of {found.graph_version} is current again")
    else:
        output.text(f"version {version} is already current")


COMMAND = CommandDeclaration("rollback", rollback, place=2, panel=Panel.REPAIR)
