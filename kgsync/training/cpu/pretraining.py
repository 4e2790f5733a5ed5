"""Pretraining of initial vectors on the CPU; the same interface as the torch pretrainer.

Elements are trained one by one, each in its own row of the model's tables, while all other rows
are frozen. So threads with different elements do not conflict, and nothing is gathered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgsync.common.cost import Cost
from kgsync.models.base import Model
from kgsync.models.parts.kernels import OWN
from kgsync.training.cpu.drawing import hash_set
from kgsync.training.cpu.keyed_negatives import Source
from kgsync.training.cpu.layout import Tables, parameters_of, tables_of
from kgsync.training.cpu.linking import kernels_of
from kgsync.training.cpu.pretraining_kernels import Elements, Part, Scratch
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.threads import on_threads
from kgsync.training.torch_backend.pretraining import PretrainingRates

__all__ = ["CpuPretrainer"]


class CpuPretrainer:
    """Trains the vectors of new elements of one model, in place; all other rows stay."""

    def __init__(
        self,
        model: Model,
        negatives: KeyedNegatives,
        rates: PretrainingRates,
        cost: Cost,
        threads: int = 1,
    ) -> None:
        """Prepare for training.

        Args:
            model: The model.
            negatives: The negative sampler whose samples are reproduced here.
            rates: How long and how fast.
            cost: Counters to increase.
            threads: Threads that take elements in turn; the vectors do not depend on their number.
        """
        sizes = model.sizes
        known = hash_set(negatives.train, sizes["entity"], sizes["relation"])
        self._source = Source(known, negatives.survivors)
        self._margin, self._tables = parameters_of(model).margin, tables_of(model)
        self._negatives, self._rates, self._cost = negatives, rates, cost
        self._threads, self._kernel = threads, kernels_of(model.settings).train_elements

    def train(self, evidence: Evidence) -> None:
        """Train elements that do not depend on each other; their dependencies are already trained.

        Args:
            evidence: The elements and their informative triples.
        """
        bounds = evidence.bounds
        elements = Elements(
            evidence.rows,
            self._negatives.keys(evidence.kind, evidence.rows),
            bounds,
            np.ascontiguousarray(evidence.triples.T),
            # Triples of one relation together: they share the search for a negative.
            np.lexsort((evidence.triples[1], evidence.owner)),
            np.argsort(-np.diff(bounds), kind="stable"),
        )
        threads = max(1, min(self._threads, len(evidence.rows)))

        def run(number: int) -> Any:
            return self._kernel(
                self._margin,
                self._tables,
                evidence.kind == "relation",
                elements,
                self._source,
                self._rates.epochs,
                np.float32(self._rates.learning_rate),
                self._scratch(evidence),
                number,
                threads,
            )

        for scored, steps in on_threads(run, threads):
            self._cost.score_evaluations += scored
            self._cost.gradient_steps += steps

    def _scratch(self, evidence: Evidence) -> Scratch:
        tables, count = self._tables, len(self._source.survivors)
        sums = Tables(*(np.zeros((2, table.shape[1]), np.float32) for table in tables))
        if evidence.kind == "entity":
            own = (tables.entity, sums.entity), (tables.entity2, sums.entity2)
        else:
            own = (tables.relation, sums.relation), (tables.relation2, sums.relation2)
        rows = len(own[0][0])
        parts = [
            Part(
                table if table.size else np.empty((rows, 0), np.float32),
                gradient[OWN],
                np.empty_like(gradient[OWN]),
                np.empty_like(gradient[OWN]),
            )
            for table, gradient in own
        ]
        widest = max(table.shape[1] for table in tables)
        return Scratch(
            sums,
            (parts[0], parts[1]),
            np.empty(self._rates.negatives, np.int64),
            np.empty(self._rates.negatives, np.int64),
            np.full((2, 3), -1),
            np.empty((2, count), np.int64),
            np.empty((4, widest), np.float32),
        )
