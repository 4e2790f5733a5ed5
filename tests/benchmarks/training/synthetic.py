"""Invented graphs of any size, and a next version that differs by about a twentieth."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kgsync.common.seeds import Seeds
from kgsync.config import Settings
from kgsync.graph.active import Active
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Splitter
from kgsync.graph.terms import TermIndex
from kgsync.training.problem import Problem

__all__ = ["draw", "next_version", "problem_of", "terms_of"]

_CHANGE = 0.05
_NEWCOMERS = 0.01


def draw(edges: int, entities: int, relations: int) -> Snapshot:
    """Distinct edges; heads are skewed, tails are near their heads on a ring of entities.

    So there is something to learn. The ids are shuffled, so that neighbours share no memory.
    """
    random = np.random.default_rng(0)
    count = edges + edges // 4
    heads = (entities * random.random(count) ** 2).astype(np.int64)
    chosen = random.integers(0, relations, count)
    places = random.integers(0, entities, relations)
    near = (random.standard_normal(count) * entities / 50).astype(np.int64)
    tails = (heads + places[chosen] + near) % entities
    names = random.permutation(entities).astype(np.int32)
    found = Snapshot.of(names[heads], chosen.astype(np.int32), names[tails])
    if len(found) < edges:
        raise ValueError(f"only {len(found):,} distinct edges could be drawn")
    kept = np.zeros(len(found), bool)
    kept[random.permutation(len(found))[:edges]] = True
    return found.where(kept)


def next_version(edges: int, entities: int, relations: int) -> tuple[Snapshot, Snapshot]:
    """Two versions of so many edges; entities, too, come and go."""
    random = np.random.default_rng(1)
    both = draw(round(edges * (1 + _CHANGE)), entities, relations)
    group = random.random(entities)

    def without(low: float) -> Snapshot:
        """All but the edges of some entities, and of random ones so many that `edges` remain."""
        absent = (group >= low) & (group < low + _NEWCOMERS)
        kept = np.flatnonzero(~absent[both.heads] & ~absent[both.tails])
        mask = np.zeros(len(both), bool)
        mask[random.permutation(kept)[:edges]] = True
        return both.where(mask)

    return without(0.0), without(_NEWCOMERS)


def terms_of(entities: int, relations: int) -> TermIndex:
    """IRIs whose ids are their numbers."""

    def iris(kind: str, count: int) -> pa.Array:
        return pa.array([f"http://example.org/{kind}/{number:09}" for number in range(count)])

    return TermIndex().extended(iris("entity", entities), iris("relation", relations))


def problem_of(edges: Snapshot, terms: TermIndex, settings: Settings, version: str) -> Problem:
    """A version to train on, split as the settings say."""
    shares = settings.split
    split = Splitter(shares.validation, shares.test).split(edges, terms)
    return Problem(Active.of(edges), split, edges, terms, settings, Seeds(0, version))
