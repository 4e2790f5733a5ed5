"""How far and why an element moved, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from kgsync.cli.output import output
from kgsync.cli.reports import short_name

if TYPE_CHECKING:
    from kgsync.models.base import Kind
    from kgsync.sync import KGSync
    from kgsync.vectors.moves import Move, Triple

__all__ = ["show_moves"]


def show_moves(sync: KGSync, iri: str, kind: str, shown: int) -> None:
    """Print what happened to an element in each version: one row each, then the triples.

    Args:
        sync: Whose versions.
        iri: The element.
        kind: "entity" or "relation".
        shown: Triples to print per version.

    Raises:
        UnknownTermError: No version has had it.
        ConfigError: The kind is unknown.
    """
    moves = sync.moves(iri, cast("Kind", kind))
    output.data([asdict(move) for move in moves])
    if not moves:
        output.text(f"no record says anything about <{iri}>: it has not changed since they begin")
        return
    columns = ["version", "graph", "action", "vector", "distance", "gained", "lost", "MRR"]
    rows = [_row(move) for move in moves]
    output.table(columns, rows, spare=["action", "MRR", "gained", "lost"], shorten=["graph"])
    triples = [row for move in moves for row in _triples(move, shown)]
    if triples:
        output.text()
        ends = ["head", "relation", "tail"]
        output.table(["version", "", *ends], triples, shorten=ends)


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
