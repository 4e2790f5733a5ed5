"""`kgsync moves`: how far and why an element moved."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import short_name
from kgsync.common.rdf_terms import bare_iri

if TYPE_CHECKING:
    from kgsync.models.base import Kind
    from kgsync.vectors.moves import Move, Triple

__all__ = ["COMMAND"]


def moves(
    iri: Annotated[str, typer.Argument(help="IRI of an entity or a relation.")],
    kind: Annotated[str, typer.Option(help="Kind of the element: entity or relation.")] = "entity",
    k: Annotated[int, typer.Option("-k", min=0, help="Triples to show per version.")] = 10,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Show how far an element moved in each version, and which triples it gained and lost."""
    output.json = json
    with opened_sync(config) as sync:
        found = sync.moves(bare_iri(iri), cast("Kind", kind))
    output.data([asdict(move) for move in found])
    if not found:
        output.text(f"no record says anything about <{iri}>: it has not changed since they begin")
        return
    columns = ["version", "graph", "action", "vector", "distance", "gained", "lost", "MRR"]
    rows = [_row(move) for move in found]
    output.table(columns, rows, spare=["action", "MRR", "gained", "lost"], shorten=["graph"])
    triples = [row for move in found for row in _triples(move, k)]
    if triples:
        output.text()
        ends = ["head", "relation", "tail"]
        output.table(["version", "", *ends], triples, shorten=ends)


COMMAND = CommandDeclaration("moves", moves, place=4, panel=Panel.USE)


def _row(move: Move) -> tuple[str, ...]:
    return (
        str(move.version),
        short_name(move.graph_version),
        move.action,
        move.change or "same",
        "-" if move.distance is None else f"{move.distance:.4g}",
        f"+{len(move.added):,}",
        f"-{len(move.deleted):,}",
        f"{move.quality['mrr']:.3f}" if move.quality else "-",
    )


def _triples(move: Move, shown: int) -> list[tuple[str, ...]]:
    found: list[tuple[str, Triple]] = [("+", triple) for triple in move.added]
    found += [("-", triple) for triple in move.deleted]
    rows: list[tuple[str, ...]] = [
        (str(move.version), sign, *triple) for sign, triple in found[:shown]
    ]
    more = len(found) - len(rows)
    if shown and more > 0:
        rows.append((str(move.version), "", f"{more:,} more", "", ""))
    return rows
