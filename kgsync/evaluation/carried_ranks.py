"""Ranks that are carried over from version to version: only what may have changed is compared.

The rank of a query (one side of a triple) whose own three elements did not move changes only
through some candidates: those that moved, came or went, and those that became known answers or
ceased to be. Their old comparison is taken away, and their new one added. All other queries are
ranked in full. The result equals ranking everything, to the last tie, because every model gives a
query and a candidate the same score whatever is scored with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsync.evaluation.counting import (
    SIDES,
    Counts,
    Queries,
    Vectors,
    count_all,
    count_some,
    own_scores,
)
from kgsync.evaluation.known import KnownTriples, Side, answers_among
from kgsync.evaluation.moved_rows import Embedded, moved_ids
from kgsync.graph.active import Active
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot, common_layout, places
from kgsync.graph.terms import Ids

__all__ = ["CarriedRanks", "RankingTask"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RankingTask:
    """A model of a version, and the triples that it is tested on."""

    embedded: Embedded
    edges: Snapshot
    """All positive triples of the version."""
    known: KnownTriples
    """The same, to find the answers of queries given as rows."""
    triples: Snapshot
    """What is ranked."""
    memory_mb: int
    """Bound on one block of scores."""


@dataclass(frozen=True)
class CarriedRanks:
    """Counts of the queries of triples that were tested, by the permanent ids of the triples."""

    triples: Snapshot
    sides: tuple[Counts, Counts]
    """Those of the heads and of the tails."""

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Ranks of the heads and of the tails: shape (2, n)."""
        return np.stack([counts.ranks for counts in self.sides])

    @classmethod
    def of(cls, tested: RankingTask) -> CarriedRanks:
        """Rank everything.

        Raises:
            TrainingError: A score is NaN.
        """
        rows = tested.embedded.active.rows(tested.triples)
        vectors = Vectors.of(tested.embedded.model)
        memory, known = tested.memory_mb, tested.known
        heads, tails = (count_all(vectors, Queries.of(rows, s), known, memory) for s in SIDES)
        return cls(tested.triples, (heads, tails))

    def update(self, tested: RankingTask, old: Embedded, change: ChangeSet) -> CarriedRanks:
        """The ranks of another model, or of the next version: the same as `of`, for less.

        Args:
            tested: The other model.
            old: The model that these are the ranks of.
            change: What leads from its version to that of the other.

        Raises:
            TrainingError: A score is NaN.
        """
        return _Update(self, tested, old, change).run()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays, to be kept."""
        return {
            "triples": np.stack(self.triples.columns),
            "better": np.stack([counts.better for counts in self.sides]),
            "equal": np.stack([counts.equal for counts in self.sides]),
            "own": np.stack([counts.own for counts in self.sides]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> CarriedRanks | None:
        """From what `arrays` gave; None if there are none."""
        if not arrays:
            return None
        heads, tails = (
            Counts(*(arrays[name][side] for name in ("better", "equal", "own"))) for side in (0, 1)
        )
        return cls(Snapshot(*arrays["triples"]), (heads, tails))


class _Update:
    """One update of ranks."""

    def __init__(
        self, before: CarriedRanks, tested: RankingTask, old: Embedded, change: ChangeSet
    ) -> None:
        self._before, self._tested, self._old, self._change = before, tested, old, change
        triples, new = tested.triples, tested.embedded
        moved, relations = moved_ids(old, new, "entity"), moved_ids(old, new, "relation")
        self._changed = np.concatenate([moved, change.added_entities, change.deleted_entities])
        moves = np.isin(triples.heads, moved) | np.isin(triples.tails, moved)
        moves |= np.isin(triples.relations, relations)
        self._at = _positions(before.triples, triples)
        """For each triple where its old counts are; -1 if its ranks cannot be carried over."""
        self._at[moves] = -1

    def run(self) -> CarriedRanks:
        # Scores of two versions with what has changed, instead of those with all entities.
        if 2 * len(self._changed) >= len(self._tested.embedded.active.entities):
            return CarriedRanks.of(self._tested)
        old, new = Vectors.of(self._old.model), Vectors.of(self._tested.embedded.model)
        heads, tails = (self._side(number, old, new) for number in (0, 1))
        return CarriedRanks(self._tested.triples, (heads, tails))

    def _side(self, number: int, old: Vectors, new: Vectors) -> Counts:
        side, kept = SIDES[number], self._before.sides[number]
        queries = Queries.of(self._tested.embedded.active.rows(self._tested.triples), side)
        own = own_scores(new, queries)
        same = self._at >= 0
        if not np.array_equal(own[same], kept.own[self._at[same]]):
            # The scores were rounded differently when they were kept, so everything is ranked
            # again.
            same[:] = False
        better, equal = np.zeros((2, len(own)), np.int64)
        better[same], equal[same] = kept.better[self._at[same]], kept.equal[self._at[same]]
        counts = Counts(better, equal, own)
        self._rank(counts, ~same, queries, new)
        self._correct(counts, same, side, (old, new))
        return counts

    def _rank(self, counts: Counts, which: Mask, queries: Queries, new: Vectors) -> None:
        """Rank some queries in full."""
        if not which.any():
            return
        some = queries.where(which)
        answers = self._tested.known.find(some.side, some.given, some.relations)
        found = count_some(new, some, counts.own[which], None, answers, self._tested.memory_mb)
        counts.better[which], counts.equal[which] = found.better, found.equal

    def _correct(
        self, counts: Counts, which: Mask, side: Side, vectors: tuple[Vectors, Vectors]
    ) -> None:
        """Take old comparisons of some queries with what has changed away, and add new ones."""
        if not which.any():
            return
        triples, change = self._tested.triples.where(which), self._change
        given = triples.heads if side == "tail" else triples.tails
        turned = [
            answers_among(edges, side, given, triples.relations).entities
            for edges in (change.added_triples, change.deleted_triples)
        ]
        changed = np.unique(np.concatenate([self._changed, *turned]))
        only = _mask(changed, self._old.active, self._tested.embedded.active)
        now, added, deleted = (
            answers_among(edges, side, given, triples.relations, only)
            for edges in (self._tested.edges, change.added_triples, change.deleted_triples)
        )
        sides = (self._old, now.before(added, deleted), -1), (self._tested.embedded, now, 1)
        for (embedded, known, sign), those in zip(sides, vectors, strict=True):
            active = embedded.active
            queries = Queries.of(active.rows(triples), side)
            rows = places(active.entities, changed)
            own, answers = counts.own[which], known.as_rows(active)
            found = count_some(
                those, queries, own, rows[rows >= 0], answers, self._tested.memory_mb
            )
            counts.better[which] += sign * found.better
            counts.equal[which] += sign * found.equal


def _positions(old: Snapshot, new: Snapshot) -> NDArray[np.int64]:
    """For each edge where it is among the old ones; -1 if it is not."""
    layout = common_layout(old, new)
    return places(old.keys(layout), new.keys(layout))


def _mask(ids: Ids, *versions: Active) -> Mask:
    """For each id that may occur, whether it is among some."""
    largest = max(int(active.entities.max(initial=0)) for active in versions)
    mask = np.zeros(largest + 1, bool)
    mask[ids] = True
    return mask
