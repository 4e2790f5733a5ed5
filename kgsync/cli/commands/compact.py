"""`kgsync compact`: free disk space of an embedded store."""

from __future__ import annotations

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output

__all__ = ["COMMAND"]


def compact(config: Config = CONFIG, json: Json = False) -> None:
    """Rewrite an embedded store to free the disk space of deleted literals."""
    output.json = json
    with opened_sync(config) as sync:
        before, after = sync.compact()
    output.data({"bytes_before": before, "bytes_after": after})
    output.text(f"{before / 2**20:,.1f} MB before, {after / 2**20:,.1f} MB after")


COMMAND = CommandDeclaration("compact", compact, place=3, panel=Panel.REPAIR)
