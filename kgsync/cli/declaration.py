"""What the file of a command declares, and how commands join the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import typer

__all__ = ["CommandDeclaration", "Panel", "add_commands"]


class Panel(StrEnum):
    """The headings of `kgsync --help`, in their order."""

    SET_UP = "Set up"
    KEEP_IN_STEP = "Keep in step"
    USE = "Use the vectors"
    REPAIR = "Repair and compare"


@dataclass(frozen=True)
class CommandDeclaration:
    """A command, and its place in the help."""

    name: str
    """As users type it."""
    command: Callable[..., None] | typer.Typer
    """A function whose docstring is the help, or a group of commands."""
    place: int
    """Its position under the heading; groups always come last there."""
    panel: Panel | None = None
    """The heading; None for the commands of a group."""


def add_commands(app: typer.Typer, commands: Iterable[CommandDeclaration]) -> None:
    """Add commands to a command line, in the order of their panels and places."""
    for declared in sorted(commands, key=_position):
        if isinstance(declared.command, typer.Typer):
            app.add_typer(declared.command, name=declared.name, rich_help_panel=declared.panel)
        else:
            app.command(declared.name, rich_help_panel=declared.panel)(declared.command)


def _position(declared: CommandDeclaration) -> tuple[int, int, str]:
    panel = -1 if declared.panel is None else list(Panel).index(declared.panel)
    return panel, declared.place, declared.name
