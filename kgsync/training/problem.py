"""What one training run works on: the edges of a version as rows, by part, with their indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kgsync.common.seeds import Seeds
from kgsync.evaluation.carried_ranks import CarriedRanks, RankingTask
from kgsync.evaluation.learned import Learned, learned
from kgsync.evaluation.moved_rows import Embedded
from kgsync.evaluation.neighbors import NeighborOverlap, neighbor_overlap
from kgsync.evaluation.ranking import KnownTriples, LinkPrediction, link_prediction, summary
from kgsync.evaluation.stability import MeanChange, model_change
from kgsync.evaluation.unchanged_sample import UnchangedSample
from kgsync.graph.active import Active, TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.graph.hashing import Hashes
from kgsync.graph.reading import Reading
from kgsync.graph.row_triples import RowTriples
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Part, Split, persistent_sample
from kgsync.graph.terms import TermIndex
from kgsync.models.base import Kind, Model
from kgsync.training.kept import Kept
from kgsync.training.rates import Rates, rates_of
from kgsync.training.settings import LearningSettings

__all__ = ["Earlier", "Problem"]

Touched = Mapping[Kind, NDArray[np.int64]]


@dataclass(frozen=True)
class Earlier:
    """Ranks of the version before, and what leads on from it."""

    ranks: CarriedRanks
    embedded: Embedded
    change: ChangeSet

    @classmethod
    def of(cls, kept: Kept, model: Model, active: Active, change: ChangeSet) -> Earlier | None:
        """What was kept; None if ranks were not.

        Args:
            kept: What the version before has left.
            model: Its model.
            active: Its elements.
            change: What has changed since.
        """
        ranks = CarriedRanks.from_arrays(kept.ranks())
        return None if ranks is None else cls(ranks, Embedded(model, active), change)


@dataclass(frozen=True)
class Problem:
    """One version, ready to be trained on."""

    active: Active
    split: Split
    edges: Snapshot
    terms: TermIndex
    settings: LearningSettings
    seeds: Seeds

    @classmethod
    def of(cls, reading: Reading, settings: LearningSettings) -> Problem:
        """The problem of a graph version, with the random numbers that belong to its edges."""
        terms = reading.fetched.terms
        seeds = Seeds(settings.run.seed, reading.sums.fingerprint)
        active = Active.of(reading.edges)
        return cls(active, reading.split, reading.edges, terms, settings, seeds)

    @cached_property
    def rates(self) -> Rates:
        """The effective learning rates."""
        settings = self.settings
        return rates_of(settings.model, settings.training, settings.update)

    @cached_property
    def train(self) -> TripleRows:
        """Training triples as rows (the paper's S)."""
        return self.active.rows(self.split.train)

    @cached_property
    def training(self) -> RowTriples:
        """The same, a few at a time: nothing is done for those that nobody asks for."""
        return RowTriples(self.split.train, self.active)

    def changed(self, change: ChangeSet) -> tuple[TripleRows, TripleRows]:
        """ΔE_S⁺ and that part of ΔE_S⁻ none of whose terms was deleted, as rows."""
        added, deleted = change.part(Part.TRAIN)
        active = self.active
        return active.rows(added), active.rows(deleted.where(active.all_active(deleted)))

    def changed_share(self, change: ChangeSet) -> float:
        """Added and deleted training triples, as a share of those of both versions."""
        added, deleted = (len(edges) for edges in change.part(Part.TRAIN))
        return (added + deleted) / max(1, len(self.split.train) + deleted)

    @cached_property
    def hashes(self) -> dict[Kind, Hashes]:
        """For each row a number that belongs to its IRI."""
        return {
            "entity": self.terms.entities.hashes[self.active.entities],
            "relation": self.terms.relations.hashes[self.active.relations],
        }

    @cached_property
    def known(self) -> KnownTriples:
        """All positive triples of the version."""
        return KnownTriples(self.edges, self.active)

    @cached_property
    def validation_sample(self) -> TripleRows:
        """The validation triples that are ranked; they persist from version to version."""
        size = self.settings.evaluation.validation_sample
        return self.active.rows(persistent_sample(self.split.validation, self.terms, size))

    @cached_property
    def test_sample(self) -> TripleRows:
        """The test triples that are ranked; they persist from version to version."""
        return self.active.rows(self._tested)

    def validate(self, model: Model) -> LinkPrediction:
        """Link prediction on the validation part."""
        return self._rank(model, self.validation_sample, len(self.split.validation))

    def test(self, model: Model) -> LinkPrediction | None:
        """Link prediction on the test part; None if it is empty."""
        return self.quality(self.ranked(model))

    def ranked(
        self, model: Model, earlier: Earlier | None = None, touched: Touched | None = None
    ) -> CarriedRanks | None:
        """Ranks of the test part; None if it is empty.

        Args:
            model: The model.
            earlier: The ranks of the version before, if they were kept: then only what may have
                changed is ranked again, to the same ranks.
            touched: The rows that may differ from those of the version before; all if it is None.
        """
        if not len(self.split.test):
            return None
        memory = self.settings.evaluation.memory_mb
        embedded = Embedded(model, self.active, touched)
        tested = RankingTask(embedded, self.edges, self.known, self._tested, memory)
        if earlier is None:
            return CarriedRanks.of(tested)
        return earlier.ranks.update(tested, earlier.embedded, earlier.change)

    def quality(self, ranked: CarriedRanks | None) -> LinkPrediction | None:
        """The quality that ranks of the test part show."""
        return summary(ranked.ranks, len(self.split.test)) if ranked else None

    def stability(
        self, old: Model, before: Active, model: Model, touched: Touched | None = None
    ) -> dict[Kind, MeanChange | None]:
        """How far the vectors of elements in both versions have moved.

        Args:
            old: The model of the version before.
            before: Its elements.
            model: The model.
            touched: The rows of the model that may have moved; all if it is None.
        """
        return model_change(
            old,
            before,
            model,
            self.active,
            self.seeds.numpy("stability"),
            sample=self.settings.evaluation.stability_sample,
            memory_mb=self.settings.evaluation.memory_mb,
            hashes=self.hashes,
            touched=touched,
        )

    def learned(
        self, model: Model, change: ChangeSet | None, unchanged: UnchangedSample | None = None
    ) -> Learned | None:
        """What was learned and forgotten; None without a change, or if the settings say so.

        Args:
            model: The updated model.
            change: What led to this version.
            unchanged: The sample of unchanged triples, if it is known.
        """
        chosen = self.settings.evaluation
        if not (chosen.learned_sample and change):
            return None
        return learned(
            model,
            self,
            change,
            sample=chosen.learned_sample,
            candidates=chosen.candidates,
            memory_mb=chosen.memory_mb,
            unchanged=unchanged,
        )

    def neighbors(self, old: Model, before: Active, model: Model) -> NeighborOverlap | None:
        """Which neighbors are the same as before; None if there are too few, or none are wanted.

        Args:
            old: The model of the version before.
            before: Its elements.
            model: The model.
        """
        chosen = self.settings.evaluation
        if not chosen.neighbors_sample:
            return None
        return neighbor_overlap(
            (old.tables["entity"], before),
            (model.tables["entity"], self.active),
            self.terms.entities.hashes,
            sample=chosen.neighbors_sample,
            candidates=chosen.candidates,
            memory_mb=chosen.memory_mb,
        )

    def _rank(self, model: Model, triples: TripleRows, sampled_from: int) -> LinkPrediction:
        memory = self.settings.evaluation.memory_mb
        return link_prediction(model, triples, self.known, memory, sampled_from)

    @cached_property
    def _tested(self) -> Snapshot:
        size = self.settings.evaluation.test_sample
        return persistent_sample(self.split.test, self.terms, size)
