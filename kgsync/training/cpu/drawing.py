"""A hash set of training triples, and false triples drawn beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kgsync.config import Corruption
from kgsync.graph.living import TripleRows
from kgsync.graph.snapshot import KeyLayout
from kgsync.training.samplers import head_shares

__all__ = ["HashSet", "draw_all", "draw_false", "draw_into", "hash_set", "is_in", "mix_number"]

_EMPTY = np.uint64(2**64 - 1)
_ROUNDS = 16


class HashSet(NamedTuple):
    """Packed triples in an open-addressing table, whose size is a power of two."""

    keys: NDArray[np.uint64]
    entity_bits: np.uint64
    relation_bits: np.uint64
    entities: int
    """Number of entity rows to draw from."""
    tail_limits: NDArray[np.uint64]
    """For each relation, below which random number a tail is replaced rather than a head."""


def hash_set(
    triples: TripleRows, entities: int, relations: int, corruption: Corruption = "uniform"
) -> HashSet:
    """The set of triples over so many entity and relation rows."""
    layout = KeyLayout.for_sizes(entities, relations)
    heads, relation, tails = triples.astype(np.int32)
    packed = layout.pack(heads, relation, tails)
    size = 1 << max(4, (2 * len(packed) - 1).bit_length())
    keys = np.full(size, _EMPTY)
    _insert(keys, packed)
    bits = np.uint64(layout.entity_bits), np.uint64(layout.relation_bits)
    tail_shares = 1 - head_shares(triples, relations, corruption)
    return HashSet(keys, *bits, entities, (tail_shares * 2.0**64).astype(np.uint64))


@njit(cache=True, error_model="numpy")
def mix_number(x: Any) -> Any:
    """The finaliser of SplitMix64, as `kgsync.graph.hashing.mix`."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, error_model="numpy")
def _insert(keys: Any, packed: Any) -> None:
    mask = np.uint64(len(keys) - 1)
    for key in packed:
        slot = mix_number(key) & mask
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        keys[slot] = key


@njit(cache=True, error_model="numpy")
def is_in(known: Any, head: Any, relation: Any, tail: Any) -> Any:
    """Whether a triple is in the set."""
    key = (np.uint64(head) << known.relation_bits) | np.uint64(relation)
    key = (key << known.entity_bits) | np.uint64(tail)
    mask = np.uint64(len(known.keys) - 1)
    slot = mix_number(key) & mask
    while known.keys[slot] != _EMPTY:
        if known.keys[slot] == key:
            return True
        slot = (slot + np.uint64(1)) & mask
    return False


@njit(cache=True, error_model="numpy")
def draw_false(known: Any, head: Any, relation: Any, tail: Any, key: Any) -> Any:
    """Head and tail of a corrupted triple (eq. corruptedTriples); -1, -1 if there is none.

    The key makes the draw: the same key, the same triple.
    """
    state = mix_number(key)
    on_tail = (state >> np.uint64(1) | state << np.uint64(63)) < known.tail_limits[relation]
    count = np.uint64(known.entities)
    for _ in range(_ROUNDS):
        state = mix_number(state)
        chosen = np.int64(((state >> np.uint64(32)) * count) >> np.uint64(32))
        h, t = (head, chosen) if on_tail else (chosen, tail)
        if not is_in(known, h, relation, t):
            return h, t
    # The rare dense query: look through all entities of one side, then of the other.
    start = np.int64((mix_number(state) >> np.uint64(32)) % count)
    for _ in range(2):
        for step in range(known.entities):
            chosen = (start + step) % known.entities
            h, t = (head, chosen) if on_tail else (chosen, tail)
            if not is_in(known, h, relation, t):
                return h, t
        on_tail = not on_tail
    return np.int64(-1), np.int64(-1)


@njit(cache=True, nogil=True)
def draw_all(triples: Any, known: Any, seed: Any) -> Any:
    """One corrupted triple for each; head and tail are -1 where there is none."""
    false = triples.copy()
    draw_into(false, triples, known, seed, 0)
    return false


@njit(cache=True, error_model="numpy")
def draw_into(false: Any, triples: Any, known: Any, seed: Any, begin: Any) -> None:
    """Fill in the same; `begin` is the position of the first triple in the epoch."""
    for at in range(len(triples)):
        key = mix_number(seed ^ np.uint64(begin + at))
        head, relation, tail = triples[at, 0], triples[at, 1], triples[at, 2]
        h, t = draw_false(known, np.int64(head), np.int64(relation), np.int64(tail), key)
        false[at, 0], false[at, 1], false[at, 2] = h, relation, t
