"""Random numbers inside the kernels: hashes of places, so that none waits for the one before."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgsync.common.compiled import compiled

__all__ = ["below", "mix_number", "shuffle"]


@compiled()
def mix_number(x: Any) -> Any:
    """The finaliser of SplitMix64, as `kgsync.graph.hashing.mix`."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(inner=True)
def below(count: Any, random: Any) -> Any:
    """A number below the count, from the upper half of a random one; uneven by count / 2³²."""
    return np.int64(((random >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@compiled(nogil=True)
def shuffle(order: Any, key: Any) -> None:
    """Put numbers into random order, in place."""
    for last in range(len(order) - 1, 0, -1):
        at = below(last + 1, mix_number(key ^ np.uint64(last)))
        order[at], order[last] = order[last], order[at]
