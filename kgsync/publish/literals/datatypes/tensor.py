"""Tensors of rdf-tensor: JSON objects with the type and the shape of the numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kgsync.publish.literals.datatypes.declaration import VectorDatatype
from kgsync.publish.literals.datatypes.parts.numbers import bracketed, from_json, numbers_of

if TYPE_CHECKING:
    from kgsync.publish.literals.datatypes.declaration import Table

__all__ = ["DATATYPE"]


def _encode(table: Table, shape: tuple[int, ...]) -> Any:
    sides = json.dumps(list(shape), separators=(",", ":"))
    return bracketed(f'{{"type":"float32","shape":{sides},"data":[', table, "]}")


def _decode(text: str) -> Table:
    value = from_json(text)
    return numbers_of(value.get("data") if isinstance(value, dict) else None)


DATATYPE = VectorDatatype(
    name="tensor",
    iri="https://w3id.org/rdf-tensor/datatypes#NumericDataTensor",
    help="rdf-tensor",
    encode=_encode,
    decode=_decode,
    escaped='"',
)
