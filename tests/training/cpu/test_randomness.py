"""Random numbers and orders of the kernels."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np

from kgsync.graph.hashing import mix
from kgsync.training.cpu.randomness import mix_number, shuffle


def test_shuffling_gives_every_order_as_often() -> None:
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in np.random.default_rng(0).integers(0, 2**63, 24_000, np.uint64):
        order = np.arange(4, dtype=np.int32)
        shuffle(order, seed)
        seen[tuple(order.tolist())] += 1
    assert set(seen) == set(permutations(range(4)))
    assert sum((count - 1_000) ** 2 / 1_000 for count in seen.values()) < 49.7  # chi², p = 0.001


def test_shuffling_many_numbers_leaves_no_trace_of_their_places() -> None:
    order = np.arange(10_000, dtype=np.int32)
    shuffle(order, np.uint64(1))
    assert sorted(order.tolist()) == list(range(10_000))
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.04
    assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.04


def test_numbers_are_mixed_as_the_arrays_are() -> None:
    numbers = np.random.default_rng(0).integers(0, 2**63, 100).astype(np.uint64)
    assert [mix_number(x) for x in numbers] == mix(numbers).tolist()
