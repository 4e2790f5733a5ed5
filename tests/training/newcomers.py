"""New elements with their triples, given plainly, for the tests of initial vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgsync.graph.hashing import Hashes, mix
from kgsync.models.base import Kind, Model
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from tests.training.graphs import Triple, as_rows


def evidence(kind: Kind, triples: Mapping[int, Sequence[Triple]]) -> Evidence:
    """Evidence from the informative triples of each row."""
    sizes = [len(some) for some in triples.values()]
    return Evidence(
        kind,
        np.array(list(triples), np.int64),
        as_rows(triple for some in triples.values() for triple in some),
        np.repeat(np.arange(len(sizes)), sizes),
        np.concatenate([np.arange(size) for size in sizes]),
    )


def negatives(
    train: Sequence[Triple],
    survivors: Sequence[int],
    *,
    entities: int,
    relations: int,
    seed: int = 0,
) -> KeyedNegatives:
    """Keyed draws over so many rows."""
    hashes: dict[Kind, Hashes] = {
        "entity": mix(np.arange(entities, dtype=np.uint64)),
        "relation": mix(np.arange(relations, dtype=np.uint64) + np.uint64(1 << 40)),
    }
    return KeyedNegatives(as_rows(train), np.array(survivors, np.int64), hashes, seed)


def for_model(
    model: Model, train: Sequence[Triple], survivors: Sequence[int], seed: int = 0
) -> KeyedNegatives:
    """Keyed draws over the rows of a model."""
    sizes = model.sizes
    return negatives(
        train, survivors, entities=sizes["entity"], relations=sizes["relation"], seed=seed
    )
