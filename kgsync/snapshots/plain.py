"""Plain edge lists, one fact per line: with a time (SNAP, ICEWS) or without (FB15K)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgsync.errors import ConfigError
from kgsync.snapshots.facts import Facts
from kgsync.snapshots.files import first_fields
from kgsync.snapshots.iris import Naming
from kgsync.snapshots.layouts import Layout
from kgsync.snapshots.tables import numbered, read_table

__all__ = ["read_static", "read_timed"]

_STATIC = ("head", "relation", "tail")


def read_timed(paths: Sequence[Path], naming: Naming) -> Facts:
    """Read timed facts: lines of `head tail time`, or of `head relation tail time`.

    Three fields mean that the file is named for its relation. A time is a number of seconds since
    1970, or an ISO date. Fields are separated by tabs if the first line has one, else by spaces.

    Raises:
        ConfigError: A file is missing or malformed, or there are no facts.
    """
    tables = [_read_timed(path) for path in paths]
    times = np.concatenate([_seconds(table["time"]) for table in tables])
    return _facts(tables, naming, times)


def read_static(paths: Sequence[Path], naming: Naming) -> Facts:
    """Read facts without times: lines of `head relation tail`, as in FB15K.

    Raises:
        ConfigError: A file is missing or malformed, or there are no facts.
    """
    tables = []
    for path in paths:
        fields, delimiter = first_fields(path)
        if len(fields) != len(_STATIC):
            raise ConfigError(
                f"{path}, line 1: expected the fields head, relation and tail, "
                f"found {len(fields)} fields"
            )
        tables.append(read_table(path, Layout(_STATIC, delimiter)))
    return _facts(tables, naming, None)


def _read_timed(path: Path) -> Any:
    fields, delimiter = first_fields(path)
    layouts = {3: ("head", "tail", "time"), 4: ("head", "relation", "tail", "time")}
    if len(fields) not in layouts:
        raise ConfigError(
            f"{path}, line 1: expected the fields head, tail and time, or head, relation, "
            f"tail and time; found {len(fields)} fields"
        )
    layout = Layout(layouts[len(fields)], delimiter, times="time", dates="-" in fields[-1][1:])
    table = read_table(path, layout)
    if "relation" in table.column_names:
        return table
    relation = pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int32()), len(table)), [path.name.partition(".")[0]]
    )
    return table.append_column("relation", relation)


def _facts(tables: list[Any], naming: Naming, times: Any) -> Facts:
    heads, relations, tails = (
        pa.chunked_array([chunk for table in tables for chunk in table[name].chunks])
        for name in _STATIC
    )
    (head, tail), entities = numbered(heads, tails)
    (relation,), names = numbered(relations)
    iris = naming.entities(entities), naming.relations(names)
    return Facts.of(*iris, (head, relation, tail), times, dated=times is not None)


def _seconds(column: Any) -> Any:
    return column.cast(pa.int64()).to_numpy()
