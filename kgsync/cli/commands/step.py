"""`kgsync step`: take the next graph version, or all new ones."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import show_report

__all__ = ["COMMAND"]


def step(
    config: Config = CONFIG,
    all_: Annotated[bool, typer.Option("--all", help="Repeat until nothing is new.")] = False,
    allow_large_removal: Annotated[
        bool,
        typer.Option("--allow-large-removal", help="Continue even if too many edges are removed."),
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Take even a change below min_change.")
    ] = False,
    json: Json = False,
) -> None:
    """Take the next graph version: update the vectors, commit and publish them."""
    output.json = json
    with opened_sync(config) as sync:
        while True:
            report = sync.step(allow_large_removal=allow_large_removal, now=now)
            show_report(report)
            output.committed += [report.to_json()] if report.changed else []
            if not all_ or not report.changed or report.behind == 0:
                break
    output.data(output.committed if all_ else report.to_json())


COMMAND = CommandDeclaration("step", step, place=2, panel=Panel.KEEP_IN_STEP)
