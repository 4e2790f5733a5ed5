"""Edges by a hash of their IRIs that any SPARQL store can compute too."""

from __future__ import annotations

import re
from hashlib import md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import TransientStoreError
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["BUCKETS", "BUCKET_DIGITS", "bucket_names", "bucket_number", "bucket_numbers"]

BUCKET_DIGITS = 3
BUCKETS = 16**BUCKET_DIGITS
"""Few enough for an answer of any store, many enough for small changes to touch few of them."""
_NAME = re.compile(f"[0-9a-f]{{{BUCKET_DIGITS}}}")


def bucket_numbers(edges: Snapshot, terms: TermIndex) -> NDArray[np.int64]:
    """The bucket of every edge; see `kgsync.graph.port.BucketReader`."""
    entities, relations = _digests(terms.entities.iris), _digests(terms.relations.iris)
    columns = (column.tolist() for column in edges.columns)
    digests = (
        md5(entities[h] + relations[r] + entities[t], usedforsecurity=False).digest()[:2]
        for h, r, t in zip(*columns, strict=True)
    )
    # The first three hexadecimal digits are the first twelve bits.
    first = np.frombuffer(b"".join(digests), ">u2")
    return (first >> 4).astype(np.int64)


def bucket_names(chosen: NDArray[np.bool_]) -> list[str]:
    """The names of the chosen ones of all buckets."""
    return [f"{number:0{BUCKET_DIGITS}x}" for number in np.flatnonzero(chosen)]


def bucket_number(name: str) -> int:
    """The number of a bucket that a store names.

    Raises:
        TransientStoreError: There is no such bucket.
    """
    if not _NAME.fullmatch(name):
        raise TransientStoreError(f"there is no bucket {name!r}")
    return int(name, 16)


def _digests(iris: Any) -> list[bytes]:
    texts = (iri.encode() for iri in iris.to_pylist())
    return [md5(text, usedforsecurity=False).hexdigest().encode() for text in texts]
