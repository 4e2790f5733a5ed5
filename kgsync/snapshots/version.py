"""One version that a builder made: its edges, what to call it, and its N-Triples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["PIECE_ROWS", "BuiltVersion", "joined"]

PIECE_ROWS = 250_000
"""Rows of N-Triples that are made and loaded at a time, so that memory stays bounded."""


@dataclass(frozen=True, eq=False)
class BuiltVersion:
    """One version, complete, not yet in any store."""

    name: str
    """What stands for {version} in the graph's IRI."""
    title: str
    edges: Snapshot
    terms: TermIndex
    issued: str | None = None
    """An ISO date or UTC time, if the version has one."""
    without_effect: int = 0
    """Added statements that already existed, and removed statements that did not."""

    @property
    def triples(self) -> int:
        """How many triples the version has, literals included."""
        return len(self.edges)

    def ntriples(self) -> Iterator[str]:
        """The version as N-Triples, in pieces, the same ones every time."""
        entities, relations = self.terms.entities, self.terms.relations
        for start in range(0, len(self.edges), PIECE_ROWS):
            piece = slice(start, start + PIECE_ROWS)
            heads, predicates, tails = (column[piece] for column in self.edges.columns)
            yield joined(
                pc.binary_join_element_wise(
                    "<",
                    entities.names(heads),
                    "> <",
                    relations.names(predicates),
                    "> <",
                    entities.names(tails),
                    "> .\n",
                    "",
                )
            )


def joined(lines: Any) -> str:
    """The strings of an Arrow array one after the other, which is how Arrow has them anyway."""
    _, offsets, data = lines.buffers()
    bounds = memoryview(offsets).cast("i")
    first, last = bounds[lines.offset], bounds[lines.offset + len(lines)]
    return str(memoryview(data or b"")[first:last], "utf-8")
