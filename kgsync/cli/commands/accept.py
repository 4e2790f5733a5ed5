"""`kgsync accept`: accept what paused the sync."""

from __future__ import annotations

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output

__all__ = ["COMMAND"]


def accept(config: Config = CONFIG, json: Json = False) -> None:
    """Accept what paused the sync, like a large removal, so that it is applied."""
    output.json = json
    with opened_sync(config) as sync:
        sync.accept()
        found = sync.status()
    output.data(found.to_json())
    running = found.run is not None and found.run.running
    when = "the running schedule applies it now" if running else "`kgsync step` applies it"
    output.text(f"accepted: {when}")


COMMAND = CommandDeclaration("accept", accept, place=5, panel=Panel.KEEP_IN_STEP)
