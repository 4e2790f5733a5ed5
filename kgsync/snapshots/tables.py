"""Delimited text files as Arrow columns, streamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kgsync.errors import ConfigError
from kgsync.graph.terms import Ids
from kgsync.snapshots.files import check_file
from kgsync.snapshots.layouts import Layout

__all__ = ["numbered", "read_table"]

_NAMES = pa.dictionary(pa.int32(), pa.string())
_BLOCK_BYTES = 1 << 24  # a row must fit into a block, and some of NELL's are long


def read_table(path: Path, layout: Layout) -> Any:
    """Read a text file, compressed or not, into an Arrow table; names are dictionary-encoded.

    Raises:
        ConfigError: The file is missing, empty or damaged, or a row does not fit the layout.
    """
    check_file(path)
    moment = pa.timestamp("s") if layout.dates else pa.int64()
    types = {name: moment if name == layout.times else _NAMES for name in layout.columns}
    read = pa.csv.ReadOptions(
        block_size=_BLOCK_BYTES, column_names=None if layout.header else layout.columns
    )
    parse = pa.csv.ParseOptions(delimiter=layout.delimiter, quote_char=False)
    convert = pa.csv.ConvertOptions(
        column_types=types, include_columns=layout.columns, null_values=[]
    )
    try:
        # The streaming reader keeps no more of the other columns than the block it is at.
        with pa.csv.open_csv(pa.input_stream(str(path)), read, parse, convert) as rows:
            table = rows.read_all()
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise layout.problem(path, str(error)) from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    if not table.num_rows:
        raise ConfigError(f"there are no facts in {path}")
    for name in set(layout.columns) - {layout.times}:
        if any(_has_empty(chunk.dictionary) for chunk in table[name].chunks):
            raise layout.problem(path, f"a {name} is empty")
    return table


def numbered(*columns: Any) -> tuple[list[Ids], Any]:
    """Columns of names as columns of numbers, and the names by number."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    unified = pa.chunked_array(chunks, _NAMES).unify_dictionaries()
    numbers = np.concatenate([np.asarray(chunk.indices) for chunk in unified.chunks])
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(numbers, ends), unified.chunk(0).dictionary


def _has_empty(names: Any) -> bool:
    return bool(pc.any(pc.equal(names, "")).as_py())
