"""What differs between the vectors of two versions, for consumers that hold the older one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgsync.graph.living import Living
from kgsync.graph.terms import Ids, TermIndex, TermTable

__all__ = ["Rows", "blocks", "delta_table", "distances"]

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

    living: Living
    tables: Mapping[str, Table]
    """"entity" and "relation" -> one row per active id; a kind may be missing."""


def delta_table(terms: TermIndex, before: Rows | None, after: Rows) -> Any:
    """The added, moved and deleted elements as an Arrow table; unchanged ones are absent.

    Args:
        terms: Ids of the newer version; those of the older one are the same.
        before: The older version; None if there is none, and everything is added.
        after: The newer version.

    Returns:
        Columns `iri`, `kind`, `change` ("added", "moved" or "deleted") and `distance`, which is
        the Euclidean distance between the two vectors of what moved, and null if they cannot be
        compared.
    """
    parts = []
    for kind, names, new in (
        ("entity", terms.entities, after.living.entities),
        ("relation", terms.relations, after.living.relations),
    ):
        if before is None:
            parts.append(_part(kind, "added", names, new))
            continue
        old = before.living.entities if kind == "entity" else before.living.relations
        stays, old_rows, new_rows = np.intersect1d(
            old, new, assume_unique=True, return_indices=True
        )
        table, old_table = after.tables[kind], before.tables.get(kind)
        parts.append(_part(kind, "added", names, np.setdiff1d(new, stays, assume_unique=True)))
        if old_table is None or old_table.shape[1] != table.shape[1]:
            parts.append(_part(kind, "moved", names, stays))
        else:
            distance = distances(old_table, old_rows, table, new_rows)
            moved = distance != 0
            parts.append(_part(kind, "moved", names, stays[moved], distance[moved]))
        parts.append(_part(kind, "deleted", names, np.setdiff1d(old, stays, assume_unique=True)))
    return pa.concat_tables(parts)


def distances(old: Table, old_rows: NDArray[Any], new: Table, new_rows: NDArray[Any]) -> Table:
    """How far each row moved: 0 only if all its numbers are the same; NaN if one is NaN."""
    found = np.empty(len(old_rows), np.float32)
    smallest = np.finfo(np.float32).smallest_subnormal
    for part in blocks(len(old_rows), new.shape[1]):
        way = new[new_rows[part]].astype(np.float64) - old[old_rows[part]]
        length = np.sqrt(np.einsum("ij,ij->i", way, way))
        found[part] = np.where(length == 0, 0, np.maximum(length, smallest))
    return found


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Blocks of a table, small enough to limit the memory of a comparison."""
    step = max(1, _AT_A_TIME // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def _part(kind: str, change: str, names: TermTable, ids: Ids, distance: Table | None = None) -> Any:
    column = pa.nulls(len(ids), pa.float32()) if distance is None else pa.array(distance)
    labels = (pa.repeat(text, len(ids)) for text in (kind, change))
    return pa.table([names.names(ids), *labels, column], schema=_SCHEMA)
