"""A hash set of training triples, and negative sampling that avoids them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.compiled import compiled
from kgsync.graph.active import TripleRows
from kgsync.graph.snapshot import KeyLayout
from kgsync.training.cpu.layout import triple_at
from kgsync.training.cpu.memory import prefetch
from kgsync.training.cpu.randomness import below, mix_number
from kgsync.training.samplers import DenseQueries, dense_queries, head_shares
from kgsync.training.settings import NegativeSampling

__all__ = [
    "Corruptions",
    "HashSet",
    "corruptions_of",
    "draw_all",
    "draw_into",
    "hash_set",
    "is_in",
]

_EMPTY = np.uint64(2**64 - 1)
_ROUNDS = 16
_BLOCK = 64  # draws whose places in the set are asked for together


class HashSet(NamedTuple):
    """Packed triples in an open-addressing table, whose size is a power of two."""

    keys: NDArray[np.uint64]
    entity_bits: np.uint64
    relation_bits: np.uint64
    entities: int
    """Number of entity rows to draw from."""
    tail_limits: NDArray[np.uint64]
    """For each relation, below which random number a tail is replaced rather than a head."""


class Corruptions(NamedTuple):
    """The data for negative sampling, in two parts, because large tuples are slow to pass."""

    known: HashSet
    dense: DenseQueries


def hash_set(
    triples: TripleRows, entities: int, relations: int, sampling: NegativeSampling = "uniform"
) -> HashSet:
    """The set of triples over so many entity and relation rows."""
    layout = KeyLayout.for_sizes(entities, relations)
    heads, relation, tails = triples.astype(np.int32)
    packed = layout.pack(heads, relation, tails)
    size = 1 << max(4, (2 * len(packed) - 1).bit_length())
    keys = np.full(size, _EMPTY)
    _insert(keys, packed)
    bits = np.uint64(layout.entity_bits), np.uint64(layout.relation_bits)
    tail_shares = 1 - head_shares(triples, relations, sampling)
    return HashSet(keys, *bits, entities, (tail_shares * 2.0**64).astype(np.uint64))


def corruptions_of(
    triples: TripleRows, entities: int, relations: int, sampling: NegativeSampling = "uniform"
) -> Corruptions:
    """Negative sampling that avoids these triples; see `hash_set`."""
    known = hash_set(triples, entities, relations, sampling)
    return Corruptions(known, dense_queries(triples, entities, relations))


@compiled()
def _insert(keys: Any, packed: Any) -> None:
    mask = np.uint64(len(keys) - 1)
    for key in packed:
        slot = mix_number(key) & mask
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        keys[slot] = key


@compiled()
def is_in(known: Any, head: Any, relation: Any, tail: Any) -> Any:
    """Whether a triple is in the set."""
    key, mask = _pack(known, head, relation, tail), np.uint64(len(known.keys) - 1)
    slot = mix_number(key) & mask
    while known.keys[slot] != _EMPTY:
        if known.keys[slot] == key:
            return True
        slot = (slot + np.uint64(1)) & mask
    return False


@compiled(inner=True)
def _ask_for(known: Any, head: Any, relation: Any, tail: Any) -> None:
    """Have the place fetched where `is_in` begins to look."""
    key, mask = _pack(known, head, relation, tail), np.uint64(len(known.keys) - 1)
    prefetch(known.keys, np.int64(mix_number(key) & mask))


@compiled(inner=True)
def _pack(known: Any, head: Any, relation: Any, tail: Any) -> Any:
    key = (np.uint64(head) << known.relation_bits) | np.uint64(relation)
    return (key << known.entity_bits) | np.uint64(tail)


@compiled(inner=True)
def _propose(known: Any, triple: Any, key: Any) -> Any:
    """Head and tail of the triple with one of them replaced, which may be a known triple."""
    state = mix_number(key)
    on_tail = _is_on_tail(known, triple.relation, state)
    return _replaced(triple, on_tail, below(known.entities, mix_number(state)))


@compiled(inner=True)
def _draw_on(source: Any, triple: Any, key: Any) -> Any:
    """Head and tail of a corrupted triple, after a proposal that is known; -1, -1 if none is."""
    known, state = source.known, mix_number(key)
    on_tail, state = _is_on_tail(known, triple.relation, state), mix_number(state)
    for _ in range(_ROUNDS):
        state = mix_number(state)
        h, t = _replaced(triple, on_tail, below(known.entities, state))
        if not is_in(known, h, triple.relation, t):
            return h, t
    return _search(source, triple, on_tail, mix_number(~key))


@compiled(inner=True)
def _replaced(triple: Any, on_tail: Any, chosen: Any) -> Any:
    return (triple.head, chosen) if on_tail else (chosen, triple.tail)


@compiled(inner=True)
def _search(source: Any, triple: Any, on_tail: Any, state: Any) -> Any:
    """The same where many draws have failed."""
    known, dense = source.known, source.dense
    for _ in range(2):  # one side; if all entities answer there, the other
        given = triple.head if on_tail else triple.tail
        at = _find_dense(known, dense.keys, on_tail, triple.relation, given)
        while at < 0:  # at least every second draw is a negative
            state = mix_number(state)
            h, t = _replaced(triple, on_tail, below(known.entities, state))
            if not is_in(known, h, triple.relation, t):
                return h, t
        first, end = dense.bounds[at], dense.bounds[at + 1]
        if first < end:
            chosen = np.int64(dense.free[first + below(end - first, state)])
            return _replaced(triple, on_tail, chosen)
        on_tail = not on_tail
    return np.int64(-1), np.int64(-1)


@compiled(inner=True)
def _is_on_tail(known: Any, relation: Any, state: Any) -> Any:
    return (state >> np.uint64(1) | state << np.uint64(63)) < known.tail_limits[relation]


@compiled(inner=True)
def _find_dense(known: Any, keys: Any, on_tail: Any, relation: Any, given: Any) -> Any:
    """The place of a query among the dense ones; -1 if it is none."""
    side = len(known.tail_limits) if on_tail else 0
    key = (side + relation) * known.entities + given
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@compiled(nogil=True)
def draw_all(triples: Any, source: Any, seed: Any) -> Any:
    """A negative (eq. corruptedTriples) for each triple; head and tail are -1 if none exists."""
    false = triples.copy()
    draw_into(false, triples, source, seed, np.int64(0))  # a plain 0 is compiled for itself
    return false


@compiled()
def draw_into(false: Any, triples: Any, source: Any, seed: Any, begin: Any) -> None:
    """Fill in the same for a part of an epoch, whose first triple has the position `begin`."""
    known = source.known
    for first in range(0, len(triples), _BLOCK):
        # The set is larger than the caches: ask for the places of a block before looking there.
        block = range(first, min(first + _BLOCK, len(triples)))
        for at in block:
            triple = triple_at(triples, at)
            h, t = _propose(known, triple, _key(seed, begin + at))
            false[at, 0], false[at, 1], false[at, 2] = h, triple.relation, t
            _ask_for(known, h, triple.relation, t)
        for at in block:
            proposed = triple_at(false, at)
            if is_in(known, proposed.head, proposed.relation, proposed.tail):
                h, t = _draw_on(source, triple_at(triples, at), _key(seed, begin + at))
                false[at, 0], false[at, 2] = h, t


@compiled(inner=True)
def _key(seed: Any, position: Any) -> Any:
    """What makes a draw: the same position of the same epoch, the same draw, in any batch."""
    return mix_number(seed ^ np.uint64(position))
