"""The hash of an edge that any SPARQL store can compute too: see `_expression_edge_hash.rq`.

It is the MD5 digest, in small hexadecimal digits, of the MD5 digests of its three IRIs in a row.
SPARQL reads no hexadecimal numbers. So the number in a hash is made of its first decimal digits,
letters left out: see `_expression_hash_number.rq`.
"""

from __future__ import annotations

from functools import cache
from hashlib import md5

from kgsync import queries

__all__ = ["decimals", "edge_hash", "md5_of"]


def md5_of(text: str) -> str:
    """The MD5 digest of a text, as SPARQL spells it."""
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def edge_hash(subject: str, predicate: str, object_: str) -> str:
    """The hash of the edge between three IRIs."""
    return md5_of(md5_of(subject) + md5_of(predicate) + md5_of(object_))


@cache
def decimals() -> int:
    """How many digits of a hash make its number, in Python as in SPARQL."""
    return int(queries.load("_expression_hash_number").parameters["decimals"].default or 0)
