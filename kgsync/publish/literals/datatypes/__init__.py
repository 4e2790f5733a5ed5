"""Vectors as RDF literals: one file per datatype, each an exact copy of the 32-bit floats.

A datatype is a module of this folder that declares itself as `DATATYPE`. Importing a file of this
folder does not load pyarrow, so that the settings can list the datatypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from kgsync.common.family import Family
from kgsync.errors import StateError

if TYPE_CHECKING:
    from kgsync.publish.literals.datatypes.declaration import Table, VectorDatatype

__all__ = ["DATATYPES", "decode", "encode", "ntriples"]

_family: Family[VectorDatatype] = Family(__name__, __path__, "DATATYPE")
DATATYPES: Mapping[str, VectorDatatype] = _family
"""By their name in the settings."""


def encode(table: Table, datatype: str) -> Any:
    """The lexical forms of the rows of a table, as an Arrow string array.

    Args:
        table: One vector per row; further dimensions are flattened in C order.
        datatype: A name in `DATATYPES`.

    Raises:
        StateError: A vector holds NaN or an infinity.
    """
    import numpy as np

    shape = table.shape[1:]
    flat = np.ascontiguousarray(table.reshape(len(table), prod(shape)), np.float32)
    if not np.isfinite(flat).all():
        raise StateError(
            "a vector holds NaN or infinity, which a literal cannot; the embedding is damaged: "
            "run `kgsync rebuild`"
        )
    return DATATYPES[datatype].encode(flat, shape)


def decode(text: str, datatype: str) -> Table:
    """The vector that a literal stands for, flattened.

    Args:
        text: Its lexical form.
        datatype: IRI of its datatype.

    Raises:
        ValueError: It is not a vector of finite numbers, or the datatype is unknown.
    """
    import numpy as np

    for each in DATATYPES.values():
        if each.iri == datatype:
            vector = each.decode(text)
            break
    else:
        raise ValueError(f"<{datatype}> is not a vector datatype")
    if not np.isfinite(vector).all():
        raise ValueError("a number is not finite")
    return vector


def ntriples(subjects: Any, predicate: str, table: Table, datatype: str) -> str:
    """One triple per row, as N-Triples.

    Args:
        subjects: Arrow string array of IRIs, in row order.
        predicate: IRI of the property.
        table: The vectors.
        datatype: A name in `DATATYPES`.
    """
    import pyarrow.compute as pc

    declared, texts = DATATYPES[datatype], encode(table, datatype)
    for character in declared.escaped:
        texts = pc.replace_substring(texts, character, f"\\{character}")
    end = f'"^^<{declared.iri}> .'
    lines = pc.binary_join_element_wise("<", subjects, f'> <{predicate}> "', texts, end, "")
    return "\n".join(lines.to_pylist()) + "\n" if len(lines) else ""
