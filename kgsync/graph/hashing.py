"""Hashes that are the same on every machine: of IRIs, and of numbers."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hashes", "keyed_hashes", "mix", "mixed", "unit_interval"]

Hashes = NDArray[np.uint64]


def keyed_hashes(iris: Any, key: bytes) -> Hashes:
    """64-bit BLAKE2b of each IRI of an Arrow array."""
    # The bytes are hashed where Arrow has them: as Python text they would take more memory.
    _, offsets, data = (memoryview(buffer or b"") for buffer in iris.buffers())
    bounds = pairwise(offsets.cast("i")[iris.offset : iris.offset + len(iris) + 1])
    digests = (blake2b(data[a:b], digest_size=8, key=key).digest() for a, b in bounds)
    hashes = (int.from_bytes(digest, "little") for digest in digests)
    return np.fromiter(hashes, np.uint64, len(iris))


def mix(x: Hashes) -> Hashes:
    """The finaliser of SplitMix64: every input bit reaches every output bit."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def mixed(first: Hashes, *others: Hashes) -> Hashes:
    """One hash per row of several columns of hashes; their order matters."""
    state = mix(first)
    for column in others:
        state = mix(state ^ column)
    return state


def unit_interval(hashes: Hashes) -> NDArray[np.float64]:
    """The top 53 bits, as exact floats in [0, 1)."""
    position: NDArray[np.float64] = (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return position
