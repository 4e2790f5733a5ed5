"""`kgsync settings`: reference of all settings, as text, Markdown, JSON or a JSON schema."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import Json
from kgsync.cli.output import output
from kgsync.errors import ConfigError

__all__ = ["COMMAND"]


def settings(
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="[SECTION]", help="Section, or setting like update.patience; default: all."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print a JSON Schema of the file, for editors.")
    ] = False,
    json: Json = False,
) -> None:
    """Explain the settings: type, default, bounds, and the name in the paper."""
    output.json = json
    from kgsync.config.reference import as_data, as_markdown, as_text, reference
    from kgsync.config.schema import schema

    if json and markdown:
        raise ConfigError("choose one of --json and --markdown")
    if json_schema and (markdown or wanted):
        raise ConfigError("--json-schema describes the whole file: it takes no other option")
    if json_schema:
        output.exact(dumps(schema(), indent=2, ensure_ascii=False) + "\n")
        return
    sections = reference(wanted)
    output.data(as_data(sections))
    if not output.json:
        output.exact(as_markdown(sections) if markdown else as_text(sections))


COMMAND = CommandDeclaration("settings", settings, place=3, panel=Panel.SET_UP)
