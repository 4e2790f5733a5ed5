"""What differs between the vectors of two versions, for consumers that hold the older one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgsync.graph.active import Active, rows_of, shared_rows
from kgsync.graph.terms import Ids, TermIndex, TermTable

__all__ = [
    "RowChange",
    "Rows",
    "blocks",
    "changes_table",
    "delta_table",
    "distances",
    "rewritten",
    "row_changes",
]

Table = NDArray[np.float32]

_SCHEMA = pa.schema(
    [
        ("iri", pa.string()),
        ("kind", pa.string()),
        ("change", pa.string()),
        ("distance", pa.float32()),
    ]
)
_AT_A_TIME = 1 << 22
"""Numbers compared at a time, which limits the memory."""


@dataclass(frozen=True)
class Rows:
    """The vectors of one version by id."""

    active: Active
    tables: Mapping[str, Table]
    """"entity" and "relation" -> one row per active id; a kind may be missing."""


@dataclass(frozen=True)
class RowChange:
    """Elements of one kind to which the same happened between two versions."""

    kind: str
    """"entity" or "relation"."""
    change: str
    """"added", "moved" or "deleted"."""
    ids: Ids
    distance: Table | None = None
    """How far each has moved; None if nothing has, or if that cannot be told."""


def row_changes(before: Rows | None, after: Rows) -> list[RowChange]:
    """What happened to the elements that were added, moved or deleted; others are absent.

    Args:
        before: The older version; None if there is none, and everything is added.
        after: The newer version.
    """
    found = []
    for kind, new in (("entity", after.active.entities), ("relation", after.active.relations)):
        if before is None:
            found.append(RowChange(kind, "added", new))
            continue
        old = before.active.entities if kind == "entity" else before.active.relations
        old_rows, new_rows = shared_rows(old, new)
        stays = new[new_rows]
        table, old_table = after.tables[kind], before.tables.get(kind)
        found.append(RowChange(kind, "added", np.delete(new, new_rows)))
        if old_table is None or old_table.shape[1] != table.shape[1]:
            found.append(RowChange(kind, "moved", stays))
        else:
            differ = _differing(old_table, old_rows, table, new_rows)
            distance = distances(old_table, old_rows[differ], table, new_rows[differ])
            found.append(RowChange(kind, "moved", stays[differ], distance))
        found.append(RowChange(kind, "deleted", np.delete(old, old_rows)))
    return found


def delta_table(terms: TermIndex, before: Rows | None, after: Rows) -> Any:
    """The changes between two versions as a table; see `changes_table` and `row_changes`."""
    return changes_table(terms, row_changes(before, after))


def changes_table(terms: TermIndex, changes: Iterable[RowChange]) -> Any:
    """The added, moved and deleted elements as an Arrow table; unchanged ones are absent.

    Args:
        terms: Ids of the newer version; those of the older one are the same.
        changes: What happened to them.

    Returns:
        Columns `iri`, `kind`, `change` ("added", "moved" or "deleted") and `distance`, which is
        the Euclidean distance between the two vectors of what moved, and null if they cannot be
        compared.
    """
    names = {"entity": terms.entities, "relation": terms.relations}
    return pa.concat_tables([_part(each, names[each.kind]) for each in changes])


def rewritten(changes: Iterable[RowChange], after: Active) -> dict[str, dict[str, int]]:
    """For each kind the vectors that differ from before, out of those of elements that stayed."""
    sizes = {"entity": len(after.entities), "relation": len(after.relations)}
    count = {(each.kind, each.change): len(each.ids) for each in changes}
    return {
        kind: {"moved": count.get((kind, "moved"), 0), "shared": size - count[kind, "added"]}
        for kind, size in sizes.items()
    }


def distances(old: Table, old_rows: NDArray[Any], new: Table, new_rows: NDArray[Any]) -> Table:
    """How far each row moved: 0 only if all its numbers are the same; NaN if one is NaN."""
    found = np.empty(len(old_rows), np.float32)
    smallest = np.finfo(np.float32).smallest_subnormal
    for part in blocks(len(old_rows), new.shape[1]):
        way = new[new_rows[part]].astype(np.float64) - old[old_rows[part]]
        length = np.sqrt(np.einsum("ij,ij->i", way, way))
        found[part] = np.where(length == 0, 0, np.maximum(length, smallest))
    return found


def _differing(
    old: Table, old_rows: NDArray[Any], new: Table, new_rows: NDArray[Any]
) -> NDArray[np.int64]:
    """Which pairs of rows differ in a number, or have one that is NaN: both are read once."""
    found = [np.empty(0, np.int64)]
    for part in blocks(len(old_rows), new.shape[1]):
        unlike = rows_of(old, old_rows[part]) != rows_of(new, new_rows[part])
        if unlike.any():
            found.append(part.start + np.flatnonzero(unlike.any(axis=1)))
    return np.concatenate(found)


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Blocks of a table, small enough to limit the memory of a comparison."""
    step = max(1, _AT_A_TIME // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def _part(change: RowChange, names: TermTable) -> Any:
    ids, distance = change.ids, change.distance
    column = pa.nulls(len(ids), pa.float32()) if distance is None else pa.array(distance)
    labels = (pa.repeat(text, len(ids)) for text in (change.kind, change.change))
    return pa.table([names.names(ids), *labels, column], schema=_SCHEMA)
