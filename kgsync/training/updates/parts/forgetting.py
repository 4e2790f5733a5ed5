"""Unlearning deleted triples: each is the negative of a pair with the paper's corrected triple.

Where an entity has lost a large share of its triples, these are unlearned to the end: what is left
says something else. Other deleted triples may well be as plausible as any that the model has never
seen, so they are unlearned until they are like validation triples, no further.
"""

from __future__ import annotations

import numpy as np

from kgsync.common.cost import Cost
from kgsync.graph.active import TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.graph.split import Part, persistent_sample
from kgsync.models.base import Model
from kgsync.training.kept import Kept
from kgsync.training.problem import Problem
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.updates.parts.amounts import Unlearned
from kgsync.training.updates.parts.concern import counted
from kgsync.training.updates.parts.losses import UNSEEN_LOSS, loss_conditions, mean_loss

__all__ = ["Forgetting"]

_LARGE = 0.1
"""Share of its triples from which on an entity has lost a large one."""
_UNSEEN = 5_000
"""Validation triples that show how unseen ones are scored."""


class Forgetting:
    """The pairs that unlearn deleted triples, epoch by epoch."""

    def __init__(
        self,
        model: Model,
        problem: Problem,
        change: ChangeSet,
        random: np.random.Generator,
        shares: Unlearned,
    ) -> None:
        """Prepare.

        Args:
            model: The model that forgets.
            problem: The new version.
            change: What led to it.
            random: Source of randomness.
            shares: How many of the deleted triples an epoch unlearns.
        """
        self._model, self._problem, self._random = model, problem, random
        _, deleted = problem.changed(change)
        self._deleted = deleted
        self._corrected = self._corrected_for(deleted)
        ends, gone = deleted[[0, 2]], change.part(Part.TRAIN)[1]
        lost = counted(np.concatenate([gone.heads, gone.tails]), problem.active.entities)[ends]
        share = lost / np.maximum(lost + problem.training.degree[ends], 1)
        self._major = (share >= _LARGE).any(axis=0)
        self._minor_too = True
        self._unseen: tuple[CorrectedSampler, TripleRows] | None = None
        self._share = np.where(self._major, shares.major, shares.minor)
        self._wanted = 0.0

    def pairs(self) -> tuple[TripleRows, TripleRows]:
        """Positives and negatives of one epoch."""
        drawn = self._random.random(self._deleted.shape[1]) < self._share
        chosen = self._deleted[:, drawn & (self._major | self._minor_too)]
        return self._corrected.draw(chosen), chosen

    def recall_unseen(self, kept: Kept, cost: Cost) -> Kept:
        """Recall how unseen triples are scored, or measure it; returns what is kept."""
        conditions = loss_conditions(self._problem)
        known = kept.number(UNSEEN_LOSS, *conditions)
        if known is None:
            known = self._loss_of_unseen(cost)
        self._wanted = known or 0.0
        return kept if known is None else kept.with_number(UNSEEN_LOSS, known, *conditions)

    def look_at_both(self, cost: Cost) -> None:
        """The same as `look` where all vectors move, so that unseen triples are measured again."""
        self._wanted = self._loss_of_unseen(cost) or 0.0
        self.look(cost)

    def look(self, cost: Cost) -> None:
        """See whether the deleted triples that were small shares are like unseen ones already."""
        minor = self._deleted[:, ~self._major]
        if minor.shape[1]:
            loss = mean_loss(self._model, self._corrected.draw(minor), minor, cost)
            self._minor_too = loss > self._wanted

    def _loss_of_unseen(self, cost: Cost) -> float | None:
        """None if there are no validation triples."""
        if not len(self._problem.split.validation):
            return None
        if self._unseen is None:
            problem = self._problem
            sample = persistent_sample(problem.split.validation, problem.terms, _UNSEEN)
            unseen = problem.active.rows(sample)
            self._unseen = self._corrected_for(unseen), unseen
        corrected, unseen = self._unseen
        return mean_loss(self._model, corrected.draw(unseen), unseen, cost)

    def _corrected_for(self, triples: TripleRows) -> CorrectedSampler:
        """The paper's corrected triples, from training triples that share terms with given ones."""
        train, relations = self._problem.training, len(self._problem.active.relations)
        ends = (train.with_ends(np.unique(triples[side]), side) for side in (0, 2))
        near = train.take(np.unique(np.concatenate(list(ends))))
        near = near[:, np.isin(near[1], triples[1])]
        if not near.shape[1]:
            near = train.take(np.arange(min(1, len(train))))
        return CorrectedSampler(near, relations, self._random)
