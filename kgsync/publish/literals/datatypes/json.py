"""JSON arrays, as in `"[0.1,-0.25]"^^rdf:JSON`."""

from __future__ import annotations

from kgsync.publish.literals.datatypes.declaration import VectorDatatype
from kgsync.publish.literals.datatypes.parts.numbers import in_list, list_in

__all__ = ["DATATYPE"]

DATATYPE = VectorDatatype(
    name="json",
    iri="http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON",
    help="rdf:JSON",
    encode=in_list,
    decode=list_in,
)
