"""The result of a query, from any store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kgsync.common.rdf_terms import XSD
from kgsync.graph.port import Term

__all__ = ["Table", "python_value"]

_INTEGERS = {
    XSD + name
    for name in ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger")
}
_FLOATS = {XSD + name for name in ("decimal", "double", "float")}
_SHOWN = 20

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows of terms under named columns; None where a variable is unbound."""

    columns: tuple[str, ...]
    rows: list[tuple[Term | None, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self.values())

    def values(self) -> list[tuple[Value, ...]]:
        """The rows as numbers, booleans and texts; None where a variable is unbound."""
        return [tuple(python_value(term) for term in row) for row in self.rows]

    def column(self, name: str) -> list[Value]:
        """The values of one column."""
        position = self.columns.index(name)
        return [python_value(row[position]) for row in self.rows]

    def to_arrow(self) -> Any:
        """An Arrow table; a column of mixed types becomes text."""
        import pyarrow as pa

        arrays = []
        for name in self.columns:
            values = self.column(name)
            if len({type(value) for value in values if value is not None}) > 1:
                values = [None if value is None else str(value) for value in values]
            arrays.append(pa.array(values))
        return pa.table(arrays, names=list(self.columns))

    def __str__(self) -> str:
        texts = [["" if v is None else str(v) for v in row] for row in self.values()[:_SHOWN]]
        lines = [list(self.columns), *texts]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        shown = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        more = len(self.rows) - len(texts)
        return "\n".join([*shown, *([f"… and {more:,} more"] if more else [])])

    def __repr__(self) -> str:
        return f"{len(self.rows):,} rows\n{self}"


def python_value(term: Term | None) -> Value:
    """A number or boolean where the datatype is one, else the text of the term."""
    if term is None:
        return None
    try:
        if term.datatype in _INTEGERS:
            return int(term.value)
        if term.datatype in _FLOATS:
            return float(term.value)
    except ValueError:
        return term.value  # ill-typed, as it may be in RDF
    if term.datatype == XSD + "boolean":
        return term.value in ("true", "1")
    return term.value
