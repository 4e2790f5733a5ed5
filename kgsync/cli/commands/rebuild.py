"""`kgsync rebuild`: train from scratch with the current settings."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import show_report

__all__ = ["COMMAND"]


def rebuild(
    aligned: Annotated[
        bool,
        typer.Option("--aligned", help="Keep the space of the vectors: consumers need no refit."),
    ] = False,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Train from scratch on the newest graph version with the current settings."""
    output.json = json
    with opened_sync(config) as sync:
        report = sync.rebuild(aligned=aligned)
    output.data(report.to_json())
    show_report(report)


COMMAND = CommandDeclaration("rebuild", rebuild, place=1, panel=Panel.REPAIR)
