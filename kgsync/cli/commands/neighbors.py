"""`kgsync neighbors`: the nearest entities."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, At, Config, Count, Json, opened_sync
from kgsync.cli.output import output
from kgsync.common.rdf_terms import bare_iri

__all__ = ["COMMAND"]


def neighbors(
    iri: Annotated[str, typer.Argument(help="IRI of an entity.")],
    k: Count = 10,
    at: At = None,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Show the nearest entities by cosine similarity."""
    output.json = json
    with opened_sync(config) as sync:
        found = sync.at(at).neighbors(bare_iri(iri), k)
    output.data([asdict(neighbor) for neighbor in found])
    rows = [(n.iri, f"{n.similarity:.3f}") for n in found]
    output.table(["entity", "cosine"], rows, shorten=["entity"])


COMMAND = CommandDeclaration("neighbors", neighbors, place=1, panel=Panel.USE)
