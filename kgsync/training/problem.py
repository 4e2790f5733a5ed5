"""What one training run works on: the edges of a version as rows, by part, with their indexes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgsync.common.seeds import Seeds
from kgsync.evaluation.ranking import KnownTriples, LinkPrediction, link_prediction
from kgsync.evaluation.stability import MeanChange, model_change
from kgsync.graph.hashing import Hashes
from kgsync.graph.living import Living, TripleRows
from kgsync.graph.reading import Reading
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Split
from kgsync.graph.terms import TermIndex
from kgsync.models.base import Kind, Model
from kgsync.training.settings import LearningSettings

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """One version, ready to be trained on."""

    living: Living
    split: Split
    edges: Snapshot
    terms: TermIndex
    settings: LearningSettings
    seeds: Seeds

    @classmethod
    def of(cls, reading: Reading, settings: LearningSettings, number: int) -> Problem:
        """The problem of a graph version, with the random numbers that belong to it.

        Args:
            reading: The version.
            settings: What to train, and how.
            number: Its place in the sequence of versions.
        """
        version = reading.version
        # A live version's name is a time: its place in the sequence makes the run repeatable.
        name = f"{version.graph}@{number}" if version.live else version.name
        seeds = Seeds(settings.run.seed, name)
        living = Living.of(reading.edges)
        terms = reading.fetched.terms
        return cls(living, reading.split, reading.edges, terms, settings, seeds)

    @cached_property
    def train(self) -> TripleRows:
        """Training triples as rows (the paper's S)."""
        return self.living.rows(self.split.train)

    @property
    def hashes(self) -> dict[Kind, Hashes]:
        """For each row a number that belongs to its IRI."""
        return {
            "entity": self.terms.entities.hashes[self.living.entities],
            "relation": self.terms.relations.hashes[self.living.relations],
        }

    @cached_property
    def known(self) -> KnownTriples:
        """All positive triples of the version."""
        return KnownTriples(self.living.rows(self.edges), len(self.living.relations))

    @cached_property
    def validation_sample(self) -> TripleRows:
        """The validation triples that are ranked, the same every time."""
        return self._sample(
            self.split.validation, self.settings.evaluation.validation_sample, "valid"
        )

    @cached_property
    def test_sample(self) -> TripleRows:
        """The test triples that are ranked, the same every time."""
        return self._sample(self.split.test, self.settings.evaluation.test_sample, "test")

    def validate(self, model: Model) -> LinkPrediction:
        """Link prediction on the validation part."""
        return self._rank(model, self.validation_sample, len(self.split.validation))

    def test(self, model: Model) -> LinkPrediction | None:
        """Link prediction on the test part; None if it is empty."""
        if not len(self.split.test):
            return None
        return self._rank(model, self.test_sample, len(self.split.test))

    def stability(self, old: Model, before: Living, model: Model) -> dict[Kind, MeanChange | None]:
        """How far the vectors of elements in both versions have moved."""
        return model_change(
            old,
            before,
            model,
            self.living,
            self.seeds.numpy("stability"),
            sample=self.settings.evaluation.stability_sample,
            memory_mb=self.settings.evaluation.memory_mb,
        )

    def _rank(self, model: Model, triples: TripleRows, sampled_from: int) -> LinkPrediction:
        memory = self.settings.evaluation.memory_mb
        return link_prediction(model, triples, self.known, memory, sampled_from)

    def _sample(self, edges: Snapshot, size: int, phase: str) -> TripleRows:
        rows = self.living.rows(edges)
        if size == 0 or size >= rows.shape[1]:
            return rows
        chosen = self.seeds.numpy(phase).choice(rows.shape[1], size, replace=False)
        return rows[:, np.sort(chosen)]
