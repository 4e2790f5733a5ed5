"""Which rows a change concerns, and how much.

A row owes an update for every training triple that it has gained or lost since it was last trained
on all of its triples: its debt. Where the debt is a large share of its triples, the row is trained
on all of them. Where it is small, on a sample. All other rows stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import TripleRows, are_among
from kgsync.graph.change import ChangeSet
from kgsync.graph.split import Part
from kgsync.graph.terms import Ids
from kgsync.training.kept import Kept
from kgsync.training.moving import Moving
from kgsync.training.problem import Problem

__all__ = ["Concern", "concern_of", "counted"]

_LARGE = 0.3
"""Share of its triples from which on a row is trained on all of them."""

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Concern:
    """The rows that a change concerns."""

    whole: Moving
    """Rows that are trained on all of their triples."""
    partly: Mask
    """Entities that are trained on a sample of their triples."""
    now: Counts
    """For each entity, how many training triples it gained and lost."""
    degree: Counts
    """For each entity, how many training triples it has; a self-loop counts twice."""
    new: Mask
    """Entities that the version before did not have."""
    added: TripleRows
    """Added training triples."""
    deleted: TripleRows
    """Deleted training triples whose terms are all active."""
    kept: Kept
    """What is kept for the next update, with what is still owed after this one."""

    @property
    def moving(self) -> Moving:
        """Rows that may move."""
        return Moving(self.whole.entities | self.partly, self.whole.relations)


def concern_of(change: ChangeSet, problem: Problem, kept: Kept) -> Concern:
    """Find the rows that a change concerns.

    Args:
        change: What changed.
        problem: The new version.
        kept: What is owed from earlier updates.
    """
    active, train = problem.active, problem.training
    added, deleted = change.part(Part.TRAIN)
    entities = np.concatenate([added.heads, added.tails, deleted.heads, deleted.tails])
    relations = np.concatenate([added.relations, deleted.relations])
    now = counted(entities, active.entities)
    debt = now + kept.debt("entity", active.entities)
    relation_debt = counted(relations, active.relations)
    relation_debt += kept.debt("relation", active.relations)
    new = _masked(change.added_entities, active.entities)
    whole = Moving(
        _large(debt, train.degree, new),
        _large(relation_debt, train.uses, _masked(change.added_relations, active.relations)),
    )
    debt[whole.entities] = 0
    relation_debt[whole.relations] = 0
    return Concern(
        whole,
        (now > 0) & ~whole.entities & (train.degree > 0),
        now,
        train.degree,
        new,
        *problem.changed(change),
        kept.with_debts(active, debt, relation_debt),
    )


def _large(debt: Counts, degree: Counts, new: Mask) -> Mask:
    return (degree > 0) & (new | (debt >= _LARGE * degree))


def _masked(ids: Ids, active: Ids) -> Mask:
    """For each active id, whether it is among some that are all active."""
    mask = np.zeros(len(active), bool)
    mask[np.searchsorted(active, ids)] = True
    return mask


def counted(ids: Ids, active: Ids) -> Counts:
    """For each active id, how often it occurs among some."""
    found = ids[are_among(ids, active)]
    return np.bincount(np.searchsorted(active, found), minlength=len(active))
