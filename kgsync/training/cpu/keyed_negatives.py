"""The negative sampling of `KeyedNegatives`, compiled: the same key gives the same negative."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.compiled import compiled
from kgsync.training.cpu.drawing import HashSet, is_in
from kgsync.training.cpu.randomness import mix_number
from kgsync.training.initial.evidence import DRAWS

__all__ = ["Source", "draw", "search"]


class Source(NamedTuple):
    """The data for negative sampling."""

    known: HashSet
    survivors: NDArray[np.int64]


@compiled(inner=True)
def draw(source: Any, h: Any, r: Any, t: Any, on_tail: Any, key: Any) -> Any:
    """A surviving entity that turns a positive into a negative; -1 if none was found."""
    count = len(source.survivors)
    if count == 0:
        return np.int64(-1)
    for attempt in range(1, DRAWS + 1):
        chosen = source.survivors[_below(count, mix_number(key ^ np.uint64(attempt)))]
        head, tail = (h, chosen) if on_tail else (chosen, t)
        if not is_in(source.known, head, r, tail):
            return chosen
    return np.int64(-1)


@compiled(inner=True)
def search(
    source: Any, h: Any, r: Any, t: Any, on_tail: Any, key: Any, asked: Any, free: Any
) -> Any:
    """Look through all survivors for the rare dense query; the last one is remembered."""
    side = 1 if on_tail else 0
    last, found = asked[side], free[side]
    other = h if on_tail else t
    if last[0] != r or last[1] != other:
        count = 0
        for survivor in source.survivors:
            head, tail = (other, survivor) if on_tail else (survivor, other)
            if not is_in(source.known, head, r, tail):
                found[count] = survivor
                count += 1
        last[0], last[1], last[2] = r, other, count
    if last[2] == 0:
        return np.int64(-1)
    return found[_below(last[2], mix_number(key))]


@compiled(inner=True)
def _below(count: Any, hashed: Any) -> Any:
    """A number below the count, from the place of the hash in the unit interval."""
    return np.int64(np.float64(hashed >> np.uint64(11)) * 2.0**-53 * count)
