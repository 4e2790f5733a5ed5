"""The command line as a whole: the commands of `kgsync.cli.commands`, and what they share."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsync import __version__
from kgsync.cli.commands import COMMANDS
from kgsync.cli.declaration import add_commands
from kgsync.cli.output import output

__all__ = ["app"]

_EXIT_CODES = (
    "Exit codes: 0 success; 2 wrong usage or settings, or no such version; 3 try again later "
    "(store or state busy or unreachable); 4 store or graph versions unusable; 5 state empty, "
    "damaged, read-only or made with other settings, or disk full; 6 a guard rejects the new "
    "version, such as one that removes too many triples; 7 unknown IRI; 130 interrupted; 1 other "
    "error."
)

app = typer.Typer(
    name="kgsync",
    help="Keep knowledge-graph embeddings in step with a live RDF store.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
add_commands(app, COMMANDS.values())


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        output.text(f"kgsync {__version__}")
        raise typer.Exit
