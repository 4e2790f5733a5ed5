"""Numbers as text: shortest forms, in lists that are also JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsync.publish.literals.datatypes.declaration import Table

__all__ = ["bracketed", "from_json", "in_list", "joined_numbers", "list_in", "numbers_of"]


def in_list(table: Table, _shape: tuple[int, ...] = ()) -> Any:
    """The numbers of each row, in square brackets and without spaces."""
    return bracketed("[", table, "]")


def bracketed(before: str, table: Table, after: str) -> Any:
    """The numbers of each row, separated by commas, between two texts."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(before, joined_numbers(table, ","), after, "")


def joined_numbers(table: Table, separator: str) -> Any:
    """The numbers of each row, as the shortest texts that read back as the same 32-bit floats."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.cast(pa.array(table.reshape(-1)), pa.string())
    # Read as an integer, -0 would lose its sign.
    numbers = pc.if_else(pc.equal(numbers, "-0"), "-0.0", numbers)
    ends = np.arange(0, table.size + 1, max(1, table.shape[1]), dtype=np.int32)
    return pc.binary_join(pa.ListArray.from_arrays(ends, numbers), separator)


def list_in(text: str) -> Table:
    """The numbers of a list."""
    return numbers_of(from_json(text))


def from_json(text: str) -> Any:
    """A parsed text; a ValueError if it is too deep or not JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("not a list of numbers: too deep") from None


def numbers_of(values: Any) -> Table:
    """The numbers of a parsed list; a ValueError if it is not one."""
    import numpy as np

    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        raise ValueError("not a list of numbers")
    try:
        with np.errstate(over="ignore"):  # too large numbers become infinity
            return np.array(values, np.float32)
    except OverflowError:
        raise ValueError("a number is not finite") from None
