"""Vectors as RDF literals: four datatypes, each an exact copy of the 32-bit floats."""

from __future__ import annotations

import base64
import binascii
import json
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgsync.errors import StateError

__all__ = ["DATATYPES", "decode", "encode", "joined_numbers", "ntriples"]

DATATYPES = {
    "list": "http://w3id.org/awslabs/neptune/SPARQL-CDTs/List",
    "tensor": "https://w3id.org/rdf-tensor/datatypes#NumericDataTensor",
    "json": "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON",
    "base64": "http://www.w3.org/2001/XMLSchema#base64Binary",
}
"""Name in the settings -> IRI."""

Table = NDArray[np.float32]
_STORED = np.dtype("<f4")


def encode(table: Table, datatype: str) -> Any:
    """The lexical forms of the rows of a table, as an Arrow string array.

    Args:
        table: One vector per row; further dimensions are flattened in C order.
        datatype: A name in `DATATYPES`.

    Raises:
        StateError: A vector holds NaN or an infinity.
    """
    flat = np.ascontiguousarray(table.reshape(len(table), prod(table.shape[1:])), np.float32)
    if not np.isfinite(flat).all():
        raise StateError(
            "a vector holds NaN or infinity, which a literal cannot; the embedding is damaged: "
            "run `kgsync rebuild`"
        )
    if datatype == "base64":
        texts = [base64.b64encode(row.tobytes()).decode() for row in flat.astype(_STORED)]
        return pa.array(texts, pa.string())
    joined = joined_numbers(flat, ",")
    if datatype == "tensor":
        shape = json.dumps(list(table.shape[1:]), separators=(",", ":"))
        before, after = f'{{"type":"float32","shape":{shape},"data":[', "]}"
    else:
        before, after = "[", "]"
    return pc.binary_join_element_wise(before, joined, after, "")


def joined_numbers(table: Table, separator: str) -> Any:
    """The numbers of each row, as the shortest texts that read back as the same 32-bit floats."""
    numbers = pc.cast(pa.array(table.reshape(-1)), pa.string())
    # Read as an integer, -0 would lose its sign.
    numbers = pc.if_else(pc.equal(numbers, "-0"), "-0.0", numbers)
    ends = np.arange(0, table.size + 1, max(1, table.shape[1]), dtype=np.int32)
    return pc.binary_join(pa.ListArray.from_arrays(ends, numbers), separator)


def decode(text: str, datatype: str) -> Table:
    """The vector that a literal stands for; a tensor is flattened.

    Args:
        text: Its lexical form.
        datatype: IRI of its datatype.

    Raises:
        ValueError: It is not a vector of finite numbers, or the datatype is unknown.
    """
    if datatype == DATATYPES["base64"]:
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from None
        if len(data) % _STORED.itemsize:
            raise ValueError(f"{len(data)} bytes are not a whole number of 32-bit floats")
        vector = np.frombuffer(data, _STORED).astype(np.float32)
    elif datatype == DATATYPES["tensor"]:
        value = _parsed(text)
        vector = _numbers(value.get("data") if isinstance(value, dict) else None)
    elif datatype in DATATYPES.values():
        vector = _numbers(_parsed(text))
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
    texts = encode(table, datatype)
    if datatype == "tensor":
        texts = pc.replace_substring(texts, '"', '\\"')
    end = f'"^^<{DATATYPES[datatype]}> .'
    lines = pc.binary_join_element_wise("<", subjects, f'> <{predicate}> "', texts, end, "")
    return "\n".join(lines.to_pylist()) + "\n" if len(lines) else ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("not a list of numbers: too deep") from None


def _numbers(values: Any) -> Table:
    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        raise ValueError("not a list of numbers")
    try:
        with np.errstate(over="ignore"):  # too large numbers become infinity
            return np.array(values, np.float32)
    except OverflowError:
        raise ValueError("a number is not finite") from None
