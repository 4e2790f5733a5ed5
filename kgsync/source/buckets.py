"""Buckets of edges, by a hash of their IRIs that any SPARQL store can compute.

The hash of an edge is the MD5 digest, in lower-case hexadecimal, of the concatenated MD5 digests of
its three IRIs. Its first digits name the bucket of the edge. Every bucket has a mark that shows
whether a store holds the same edges, without sending them: the sum of a number in each hash, or,
if a store cannot sum them, the smallest and the largest hash.
"""

from __future__ import annotations

import re
from hashlib import md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import TransientStoreError
from kgsync.graph.edge_hash import decimals, md5_of
from kgsync.graph.port import Marks
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = [
    "BUCKETS",
    "BUCKET_DIGITS",
    "Digests",
    "bucket_marks",
    "bucket_names",
    "bucket_number",
    "bucket_numbers",
    "checksum",
    "edge_digests",
]

Digests = NDArray[np.uint8]
"""One hash of 16 bytes per row."""

BUCKET_DIGITS = 3
BUCKETS = 16**BUCKET_DIGITS
"""Few enough for an answer of any store, many enough for small changes to touch few of them."""
_NAME = re.compile(f"[0-9a-f]{{{BUCKET_DIGITS}}}")
_BLOCK = 1 << 16


def edge_digests(edges: Snapshot, terms: TermIndex) -> Digests:
    """The hash of every edge."""
    entities, relations = _digests(terms.entities.iris), _digests(terms.relations.iris)
    columns = (column.tolist() for column in edges.columns)
    digests = (
        md5(entities[h] + relations[r] + entities[t], usedforsecurity=False).digest()
        for h, r, t in zip(*columns, strict=True)
    )
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16)


def bucket_numbers(digests: Digests) -> NDArray[np.int64]:
    """The bucket of every hash."""
    # The first three hexadecimal digits are the first twelve bits.
    first = digests[:, :2].astype(np.int64)
    numbers: NDArray[np.int64] = first[:, 0] << 4 | first[:, 1] >> 4
    return numbers


def bucket_marks(digests: Digests, kind: Marks) -> dict[int, tuple[int, str]]:
    """How many edges every bucket has, and its mark; empty buckets are left out."""
    numbers = bucket_numbers(digests)
    counts = np.bincount(numbers, minlength=BUCKETS)
    marks = _sums(numbers, digests) if kind == "sums" else _ends(digests)
    return {int(at): (int(counts[at]), marks[at]) for at in np.flatnonzero(counts)}


def checksum(edges: Snapshot, terms: TermIndex) -> tuple[int, int]:
    """How many edges there are, and the sum of the numbers in their hashes."""
    return len(edges), int(_numbers(edge_digests(edges, terms)).sum())


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


def _sums(numbers: NDArray[np.int64], digests: Digests) -> list[str]:
    sums = np.zeros(BUCKETS, np.int64)
    np.add.at(sums, numbers, _numbers(digests))
    return [str(number) for number in sums.tolist()]


def _ends(digests: Digests) -> list[str]:
    """The smallest and the largest hash of every bucket, one after the other."""
    order = np.lexsort(digests.T[::-1])
    sorted_numbers = bucket_numbers(digests[order])
    first = np.searchsorted(sorted_numbers, np.arange(BUCKETS), "left")
    last = np.searchsorted(sorted_numbers, np.arange(BUCKETS), "right") - 1
    marks = [""] * BUCKETS
    for at in np.flatnonzero(last >= first).tolist():
        ends = (digests[order[place]].tobytes().hex() for place in (first[at], last[at]))
        marks[at] = "".join(ends)
    return marks


def _numbers(digests: Digests) -> NDArray[np.int64]:
    """The number in every hash: its first decimal digits, letters left out."""
    found = np.empty(len(digests), np.int64)
    for start in range(0, len(digests), _BLOCK):
        block = digests[start : start + _BLOCK]
        digits = np.stack([block >> 4, block & 15], axis=2).reshape(len(block), 32)
        number = np.zeros(len(block), np.int64)
        left = np.full(len(block), decimals())
        for digit in digits.T:
            taken = (digit < 10) & (left > 0)
            number = np.where(taken, number * 10 + digit, number)
            left -= taken
        found[start : start + _BLOCK] = number
    return found


def _digests(iris: Any) -> list[bytes]:
    return [md5_of(iri).encode() for iri in iris.to_pylist()]
