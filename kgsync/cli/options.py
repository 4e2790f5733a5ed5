"""Options that several commands have, and the sync that they work on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsync.cli.output import output

if TYPE_CHECKING:
    from kgsync.sync import KGSync

__all__ = ["CONFIG", "At", "Config", "Count", "Json", "opened_sync"]

Config = Annotated[Path, typer.Option("--config", "-c", help="Settings file.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
At = Annotated[
    int | None,
    typer.Option("--at", metavar="VERSION", help="Older version that still has its files."),
]
Count = Annotated[int, typer.Option("-k", min=1, help="Number of results.")]
CONFIG = Path("kgsync.toml")


@contextmanager
def opened_sync(config: Path) -> Iterator[KGSync]:
    """The sync that a settings file describes, with its progress shown."""
    from kgsync.sync import KGSync

    with output.listening() as listener:
        yield KGSync.from_config(config, listener)
