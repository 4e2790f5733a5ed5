"""The bytes of the floats in base64: the shortest form, which SPARQL cannot look into."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from kgsync.publish.literals.datatypes.declaration import VectorDatatype

if TYPE_CHECKING:
    from kgsync.publish.literals.datatypes.declaration import Table

__all__ = ["DATATYPE"]

_STORED = "<f4"
_BYTES = 4
"""Of one number."""


def _encode(table: Table, _shape: tuple[int, ...]) -> Any:
    import pyarrow as pa

    texts = [base64.b64encode(row.tobytes()).decode() for row in table.astype(_STORED)]
    return pa.array(texts, pa.string())


def _decode(text: str) -> Table:
    import numpy as np

    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None
    if len(data) % _BYTES:
        raise ValueError(f"{len(data)} bytes are not a whole number of 32-bit floats")
    return np.frombuffer(data, _STORED).astype(np.float32)


DATATYPE = VectorDatatype(
    name="base64",
    iri="http://www.w3.org/2001/XMLSchema#base64Binary",
    help="xsd:base64Binary: 32-bit floats, little-endian",
    encode=_encode,
    decode=_decode,
)
