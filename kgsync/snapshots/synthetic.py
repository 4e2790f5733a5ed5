"""Synthetic versions of a static graph: each is a random sample, as the paper does with FB15K."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import ConfigError
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import Ids
from kgsync.snapshots.facts import Facts
from kgsync.snapshots.version import BuiltVersion

__all__ = ["synthetic_versions"]


def synthetic_versions(
    facts: Facts, versions: int = 20, elements: float = 0.995, share: float = 0.95, seed: int = 0
) -> Iterator[BuiltVersion]:
    """Sample versions of a static graph, each for itself.

    With the defaults this is the paper's 20_0.995rel_0.995ent_0.95.

    Args:
        facts: The static graph.
        versions: How many versions to make.
        elements: Share of the entities, and of the relations, that a version may use.
        share: Share of the triples among those that it has.
        seed: Version k depends on the facts, the seed and k alone.

    Raises:
        ConfigError: The numbers are impossible.
    """
    if versions < 1 or not (0 < share <= 1 and 0 < elements <= 1) or seed < 0:
        raise ConfigError(
            "synthetic versions need at least one version, shares above 0 and at most 1, and a "
            "seed that is not negative"
        )
    return _samples(facts.snapshot(), facts, versions, elements, share, seed)


def _samples(
    whole: Snapshot, facts: Facts, versions: int, elements: float, share: float, seed: int
) -> Iterator[BuiltVersion]:
    for number in range(versions):
        random = np.random.default_rng([seed, number])
        entity = _sample(random, whole.entities, elements, len(facts.terms.entities))
        relation = _sample(random, whole.relation_ids, elements, len(facts.terms.relations))
        among = np.flatnonzero(
            entity[whole.heads] & relation[whole.relations] & entity[whole.tails]
        ).astype(np.int32)
        edges = whole.where(_sample(random, among, share, len(whole)))
        title = f"sample {number} with seed {seed}: {share:.1%} of {len(among):,}"
        yield BuiltVersion(str(number), f"{title} triples", edges, facts.terms)


def _sample(random: np.random.Generator, ids: Ids, share: float, size: int) -> NDArray[np.bool_]:
    """A share of the ids, drawn without replacement, as a mask over `size` ids."""
    mask = np.zeros(size, bool)
    mask[random.choice(ids, round(share * len(ids)), replace=False)] = True
    return mask
