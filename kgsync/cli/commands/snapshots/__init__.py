"""`kgsync snapshots`: a group of commands, one file each, that load versions into a store.

Each file declares its command as `COMMAND`.
"""

from __future__ import annotations

from collections.abc import Mapping

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel, add_commands
from kgsync.common.family import Family

__all__ = ["COMMAND", "COMMANDS"]

COMMANDS: Mapping[str, CommandDeclaration] = Family(__name__, __path__, "COMMAND")
"""The commands of the group, by name."""

_app = typer.Typer(
    help="Build the versions of a history, and load them with their metadata into a store.",
    no_args_is_help=True,
)
add_commands(_app, COMMANDS.values())

COMMAND = CommandDeclaration("snapshots", _app, place=5, panel=Panel.SET_UP)
