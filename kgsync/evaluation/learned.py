"""What an update has learned and forgotten: groups of triples around a change, ranked alike.

added       training triples that are new, against
unchanged   training triples that were there before
deleted     former training triples whose terms are still there, against
unseen      validation and test triples, which are true but were never trained on
near        test triples whose rarer entity is in a changed triple, against
elsewhere   the other test triples

All samples persist from version to version, and all groups have the same candidates. A deleted
triple that ranks no better than an unseen one is forgotten.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsync.evaluation.candidates import Candidates, Ranks, ranks_among
from kgsync.evaluation.ranking import KnownTriples, standard_error
from kgsync.evaluation.unchanged_sample import UnchangedSample
from kgsync.graph.active import Active
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Part, Split, persistent_sample
from kgsync.graph.terms import TermIndex
from kgsync.models.base import Model

__all__ = ["Group", "GroupQuality", "Learned", "StillRanked", "change_groups", "learned"]

_TOP = 10
_SHOWN = 5
"""Deleted triples that still rank high and are named."""


class RankedVersion(Protocol):
    """The version whose triples are ranked."""

    @property
    def active(self) -> Active:
        """Its elements."""

    @property
    def split(self) -> Split:
        """Its edges by part."""

    @property
    def terms(self) -> TermIndex:
        """The ids."""

    @property
    def known(self) -> KnownTriples:
        """All positive triples as rows."""


@dataclass(frozen=True)
class Group:
    """A sample of triples that have something in common."""

    triples: Snapshot
    available: int
    """How many there were to choose from."""


@dataclass(frozen=True)
class GroupQuality:
    """How the triples of a group rank."""

    mrr: float
    mrr_error: float
    """Standard error; 0 if all triples of the group were ranked."""
    top_10: int
    """Triples that rank among the first ten on at least one side."""
    triples: int
    sampled_from: int


@dataclass(frozen=True)
class StillRanked:
    """A deleted triple that ranks among the first ten on at least one side."""

    head: str
    relation: str
    tail: str
    head_rank: float
    tail_rank: float


@dataclass(frozen=True)
class Learned:
    """What an update has learned and forgotten."""

    groups: dict[str, GroupQuality]
    """Those that have triples."""
    still_ranked: tuple[StillRanked, ...]
    """Some of the deleted triples in the top ten, those that rank best first."""
    candidates: int
    """Entities that every answer was ranked among."""
    entities: int

    def to_json(self) -> dict[str, Any]:
        """Plain values for reports."""
        return {**asdict(self), "still_ranked": [asdict(each) for each in self.still_ranked]}


def learned(
    model: Model,
    version: RankedVersion,
    change: ChangeSet,
    *,
    sample: int,
    candidates: int,
    memory_mb: int = 256,
    unchanged: UnchangedSample | None = None,
) -> Learned:
    """Rank the groups of a change on both sides, among the same candidates.

    Args:
        model: The updated model.
        version: The version it belongs to.
        change: What led to the version.
        sample: Triples of each group at most; 0 takes all.
        candidates: Entities to rank among; 0 takes all.
        memory_mb: Bound on one block of scores.
        unchanged: Of the version, if it is known.
    """
    active, terms = version.active, version.terms
    among = Candidates.of(terms.entities.hashes[active.entities], candidates)
    groups = {
        name: group
        for name, group in change_groups(version, change, sample, unchanged).items()
        if len(group.triples)
    }
    rows = [active.rows(group.triples) for group in groups.values()]
    if not rows:
        return Learned({}, (), len(among.rows), among.entities)
    ranks = ranks_among(model, np.concatenate(rows, axis=1), version.known, among, memory_mb)
    ends = np.cumsum([len(group.triples) for group in groups.values()])
    by_group = dict(zip(groups, np.split(ranks, ends[:-1], axis=1), strict=True))
    found = {name: _quality(by_group[name], group.available) for name, group in groups.items()}
    still: tuple[StillRanked, ...] = ()
    if "deleted" in groups:
        still = _still_ranked(groups["deleted"].triples, by_group["deleted"], terms)
    return Learned(found, still, len(among.rows), among.entities)


def change_groups(
    version: RankedVersion,
    change: ChangeSet,
    size: int,
    unchanged: UnchangedSample | None = None,
) -> dict[str, Group]:
    """The groups of a change, each a sample of at most `size` triples; all of them for 0.

    Args:
        version: The version it leads to.
        change: The change.
        size: Triples of each group at most.
        unchanged: Of the version, for samples of this size, if it is known.
    """
    split, terms, active = version.split, version.terms, version.active
    added, deleted = change.part(Part.TRAIN)
    deleted = deleted.where(active.all_active(deleted))
    if size == 0:
        before = split.train.minus(added)
    else:
        found = unchanged or UnchangedSample.of(split.train, terms, size, len(added))
        before = found.without(added, terms)
    # The smallest hashes of two sets are among the smallest of each.
    unseen = [persistent_sample(part, terms, size) for part in (split.validation, split.test)]
    is_near = _touched(split.test, change, split.train, len(terms.entities))
    near, elsewhere = split.test.where(is_near), split.test.where(~is_near)
    return {
        "added": Group(persistent_sample(added, terms, size), len(added)),
        "unchanged": Group(before, len(split.train) - len(added)),
        "deleted": Group(persistent_sample(deleted, terms, size), len(deleted)),
        "unseen": Group(
            persistent_sample(unseen[0].plus(unseen[1]), terms, size),
            len(split.validation) + len(split.test),
        ),
        "near": Group(persistent_sample(near, terms, size), len(near)),
        "elsewhere": Group(persistent_sample(elsewhere, terms, size), len(elsewhere)),
    }


def _touched(
    triples: Snapshot, change: ChangeSet, train: Snapshot, entities: int
) -> NDArray[np.bool_]:
    """Whether the change touches the rarer entity of each triple."""
    touched = np.zeros(entities, bool)
    for edges in (change.added_triples, change.deleted_triples):
        touched[edges.heads] = touched[edges.tails] = True
    degree = np.zeros(entities, np.int64)
    degree[: len(train.uses.entities)] = train.uses.entities  # counted for the update already
    heads, tails = triples.heads, triples.tails
    found: NDArray[np.bool_] = touched[np.where(degree[heads] <= degree[tails], heads, tails)]
    return found


def _quality(ranks: Ranks, available: int) -> GroupQuality:
    reciprocal = (1 / ranks).mean(axis=0)  # a triple is what was drawn: its sides count as one
    return GroupQuality(
        mrr=float(reciprocal.mean()),
        mrr_error=standard_error(reciprocal, available),
        top_10=int((ranks.min(axis=0) <= _TOP).sum()),
        triples=len(reciprocal),
        sampled_from=available,
    )


def _still_ranked(deleted: Snapshot, ranks: Ranks, terms: TermIndex) -> tuple[StillRanked, ...]:
    best = ranks.min(axis=0)
    order = np.lexsort((ranks.max(axis=0), best))
    return tuple(
        StillRanked(
            terms.entities.name(deleted.heads[at]),
            terms.relations.name(deleted.relations[at]),
            terms.entities.name(deleted.tails[at]),
            float(ranks[0, at]),
            float(ranks[1, at]),
        )
        for at in order[:_SHOWN]
        if best[at] <= _TOP
    )
