"""Versions of a static graph in which a given share of the triples changes from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import ConfigError
from kgsync.graph.snapshot import Snapshot
from kgsync.snapshots.facts import Facts
from kgsync.snapshots.version import BuiltVersion

__all__ = ["Changing", "changing_versions"]

_REST = 0.9
"""Share of its possible triples that a new entity brings along."""


@dataclass(frozen=True)
class Changing:
    """How the versions change."""

    shares: Sequence[float]
    """For each version after the first, added and deleted triples as a share of those before."""
    added: float = 0.6
    """Share of the changed triples that are added; the others are deleted."""
    by_new_entities: float = 0.4
    """Share of the added triples that come with new entities, as long as there are any."""
    start: float = 0.94
    """Share of the triples in the first version, of those between its entities."""
    hidden: float = 0.02
    """Share of the entities that are not in the first version."""
    seed: int = 0

    def check(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: They are impossible.
        """
        shares = self.added, self.by_new_entities, self.hidden
        if not all(0 <= share <= 1 for share in shares) or not 0 < self.start <= 1:
            raise ConfigError("the shares of changing versions must lie between 0 and 1")
        if not self.shares or not all(share > 0 for share in self.shares) or self.seed < 0:
            raise ConfigError(
                "changing versions need at least one change, shares above 0, and a seed that is "
                "not negative"
            )


def changing_versions(facts: Facts, how: Changing) -> Iterator[BuiltVersion]:
    """Change a static graph step by step: triples come and go, new entities arrive.

    A deleted triple may return later. A version does not depend on how many follow.

    Args:
        facts: The static graph; all triples come from it.
        how: The changes.

    Raises:
        ConfigError: The numbers are impossible.
    """
    how.check()
    return _versions(facts, how)


def _versions(facts: Facts, how: Changing) -> Iterator[BuiltVersion]:
    whole = facts.snapshot()
    random = np.random.default_rng([how.seed, len(whole)])
    pool = _Pool(whole, how, random)
    yield BuiltVersion("0", f"{len(pool):,} triples to begin with", pool.edges, facts.terms)
    for number, share in enumerate(how.shares, start=1):
        added, deleted = pool.change(share)
        title = f"{added:,} triples added, {deleted:,} deleted"
        yield BuiltVersion(str(number), title, pool.edges, facts.terms)


class _Pool:
    """The triples of a static graph, and which of them are there."""

    def __init__(self, whole: Snapshot, how: Changing, random: np.random.Generator) -> None:
        self._whole, self._how, self._random = whole, how, random
        entities = random.permutation(whole.entities)
        self._arriving = entities[: round(how.hidden * len(entities))].tolist()
        self._away = np.zeros(int(whole.entities.max(initial=-1)) + 1, bool)
        self._away[self._arriving] = True
        self._here = self._possible() & (random.random(len(whole)) < how.start)

    def __len__(self) -> int:
        return int(self._here.sum())

    @property
    def edges(self) -> Snapshot:
        return self._whole.where(self._here)

    def change(self, share: float) -> tuple[int, int]:
        """Delete and add triples; returns how many were added and deleted."""
        how, before = self._how, self._here.copy()
        changed = share * len(self)
        adding, deleting = round(changed * how.added), round(changed * (1 - how.added))
        # What is deleted now does not come back in the same version.
        deleted = self._drawn(np.flatnonzero(before), min(deleting, len(self)))
        adding -= self._arrive(adding)
        free = self._possible() & ~self._here
        free[deleted] = False
        self._here[self._drawn(np.flatnonzero(free), adding)] = True
        self._here[deleted] = False
        return int((self._here & ~before).sum()), int((before & ~self._here).sum())

    def _arrive(self, adding: int) -> int:
        """Let entities arrive with most of their triples; returns how many came."""
        came = 0
        while self._arriving and came < adding * self._how.by_new_entities:
            entity = self._arriving[-1]
            self._away[entity] = False
            own = (self._whole.heads == entity) | (self._whole.tails == entity)
            theirs = np.flatnonzero(own & self._possible() & ~self._here)
            theirs = theirs[self._random.random(len(theirs)) < _REST]
            if came + len(theirs) > adding:
                self._away[entity] = True
                # It is too large for this change; another one may fit the next.
                self._arriving.insert(0, self._arriving.pop())
                break
            self._arriving.pop()
            self._here[theirs] = True
            came += len(theirs)
        return came

    def _possible(self) -> NDArray[np.bool_]:
        """Triples whose entities have arrived."""
        return ~(self._away[self._whole.heads] | self._away[self._whole.tails])

    def _drawn(self, places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        return self._random.choice(places, max(0, min(count, len(places))), replace=False)
