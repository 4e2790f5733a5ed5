"""`kgsync plan`: what the next step would do."""

from __future__ import annotations

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output

__all__ = ["COMMAND"]


def plan(config: Config = CONFIG, json: Json = False) -> None:
    """Show what the next step would do, without changing anything."""
    output.json = json
    with opened_sync(config) as sync:
        found = sync.plan()
    output.data(found.to_json())
    output.text(str(found))


COMMAND = CommandDeclaration("plan", plan, place=1, panel=Panel.KEEP_IN_STEP)
