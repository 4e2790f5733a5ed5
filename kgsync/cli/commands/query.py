"""`kgsync query`: list and run the queries of the library."""

from __future__ import annotations

import csv
import io
import textwrap
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, At, Config, Json
from kgsync.cli.output import output
from kgsync.cli.tables import table_lines
from kgsync.common.printable import printable
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.graph.port import Term
    from kgsync.graph.table import Table
    from kgsync.queries import Parameter

__all__ = ["COMMAND", "result_lines"]

_FORMS = ("table", "csv", "json")
_LONGEST = 80
"""Maximum characters of a literal in a table; a vector has thousands."""


def query(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a query, or SPARQL text; default: list all queries."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="File with your own query, instead of a name.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="Parameter as name=value; repeatable.")
    ] = None,
    at: At = None,
    form: Annotated[str, typer.Option("--format", help="Output: table, csv or json.")] = "table",
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Run a query on the published embeddings, or list the available queries."""
    output.json = json or form == "json"
    if json and form == "csv":
        raise ConfigError("choose one of --json and --format csv")
    asked = name if file is None else file
    if asked is None:
        _list_queries()
        return
    given = _parameters(param or [])
    if name is not None and file is not None:
        raise ConfigError("give either the name of a query or a file with --file")
    if form not in _FORMS:
        raise ConfigError(f"--format must be one of {', '.join(_FORMS)}, not {form!r}")
    if "at" in given:
        raise ConfigError("set the version with --at, not with --param")
    from kgsync.sync import KGSync

    table = KGSync.from_config(config).query(asked, at=at, **given)
    if form == "csv" and not output.json:
        output.exact(_csv(table))
        return
    rows = [dict(zip(table.columns, map(_in_json, row), strict=True)) for row in table.values()]
    output.data(rows)
    if rows:
        for line in result_lines(table, output.screen_width):
            output.text(line)
    else:
        output.text("no rows")


COMMAND = CommandDeclaration("query", query, place=3, panel=Panel.USE)


def _list_queries() -> None:
    """Print every query of the library with its parameters."""
    from kgsync import queries

    library = [queries.load(name) for name in queries.available()]
    output.data(
        [
            {
                "name": query.name,
                "summary": query.summary,
                "parameters": [
                    {"name": p.name, "type": p.kind, "default": p.default, "about": p.about}
                    for p in query.parameters.values()
                ],
            }
            for query in library
        ]
    )
    for query in library:
        output.heading(query.name)
        _wrapped(query.summary, "  ", "  ")
        for parameter in query.parameters.values():
            _wrapped(f"{parameter.name:9} {_described(parameter)}", "    ", " " * 14)
    output.text("\nRun one with: kgsync query NAME --param name=value")


def _wrapped(text: str, first: str, others: str) -> None:
    """Print text that fits the terminal, indented; lines of any length without one."""
    width = output.width
    lines = [first + text]
    if width is not None:
        lines = textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others)
    for line in lines:
        output.text(line)


def _parameters(texts: list[str]) -> dict[str, list[str]]:
    """Values by name, from texts like `k=10`; a repeated name adds a value.

    Raises:
        ConfigError: A text has another form.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"write a parameter as name=value, not {text!r}")
        found.setdefault(name.strip().lstrip("$?"), []).append(value)
    return found


def _in_json(value: Any) -> Any:
    """JSON has neither infinities nor NaN: they become strings."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _described(parameter: Parameter) -> str:
    default = parameter.default
    if default is None:
        needed = "required"
    elif parameter.known_as is not None:
        needed = "filled in"
    else:
        needed = f"default {default}"
    return f"{parameter.kind}, {needed}: {parameter.about}"


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([["" if t is None else t.value for t in row] for row in table.rows])
    return text.getvalue()


def result_lines(table: Table, width: int | None = None) -> list[str]:
    """One line per row; of any length without a width, because IRIs are there to be copied.

    Columns that do not fit are left out, the last ones first, and named in a line at the end.
    """
    text = [
        name
        for name in table.columns
        if not all(isinstance(value, int | float | None) for value in table.column(name))
    ]
    rows = [[_cell(term) for term in row] for row in table.rows]
    numbers = [name for name in table.columns if name not in text]
    spare = table.columns[:0:-1]
    lines = table_lines(table.columns, rows, width, right=numbers, shorten=text, spare=spare)
    shown = lines[0].split()
    missing = [name for name in table.columns if name not in shown]
    if missing:
        lines.append(f"left out: {', '.join(missing)}; --json and --format csv show them")
    return lines


def _cell(term: Term | None) -> str:
    from kgsync.graph.table import python_value

    value = python_value(term)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = printable(str(value))
    cut = term is not None and term.kind == "literal" and len(text) > _LONGEST
    return text[:_LONGEST] + "…" if cut else text
