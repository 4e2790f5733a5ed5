"""Lists of the SPARQL-CDTs proposal, as in `"[0.1,-0.25]"^^cdt:List`."""

from __future__ import annotations

from kgsync.publish.literals.datatypes.declaration import VectorDatatype
from kgsync.publish.literals.datatypes.parts.numbers import in_list, list_in

__all__ = ["DATATYPE"]

DATATYPE = VectorDatatype(
    name="list",
    iri="http://w3id.org/awslabs/neptune/SPARQL-CDTs/List",
    help="cdt:List",
    encode=in_list,
    decode=list_in,
)
