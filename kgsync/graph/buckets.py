"""Edges by a hash of their IRIs that any SPARQL store can compute too."""

from __future__ import annotations

from hashlib import md5

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["BUCKETS", "BUCKET_DIGITS", "bucket_names", "bucket_numbers"]

BUCKET_DIGITS = 3
BUCKETS = 16**BUCKET_DIGITS
"""Few enough for an answer of any store, many enough for small changes to touch few of them."""


def bucket_numbers(edges: Snapshot, terms: TermIndex) -> NDArray[np.int64]:
    """The bucket of every edge; see `kgsync.graph.port.BucketReader`."""
    entities, relations = terms.entities.iris.to_pylist(), terms.relations.iris.to_pylist()
    heads = [iri.encode() + b" " for iri in entities]
    middles = [iri.encode() + b" " for iri in relations]
    tails = [iri.encode() for iri in entities]
    columns = (column.tolist() for column in edges.columns)
    digests = (
        md5(heads[h] + middles[r] + tails[t], usedforsecurity=False).digest()
        for h, r, t in zip(*columns, strict=True)
    )
    # The first three hexadecimal digits are the first twelve bits.
    first = np.frombuffer(b"".join(digest[:2] for digest in digests), ">u2")
    return (first >> 4).astype(np.int64)


def bucket_names(chosen: NDArray[np.bool_]) -> list[str]:
    """The names of the chosen ones of all buckets."""
    return [f"{number:0{BUCKET_DIGITS}x}" for number in np.flatnonzero(chosen)]
