"""A model fitted on the vectors of one version, applied unchanged to those of later ones.

    python -m tests.benchmarks.alignment [--models …] [--versions N] [--epochs N]

A classifier of `rdf:type` is fitted on half of the entities of a version of nomisma. The triples of
`rdf:type` take no part in training, so vectors do not simply contain the answer. Later versions are
updated (the strategy `local`), retrained, or retrained and aligned, each from its own version
before. All trainings have the same number of epochs, without validation.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import ModelSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.evaluation.ranking import link_prediction
from kgsync.evaluation.stability import model_change
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import persistent_sample
from kgsync.models.base import Model
from kgsync.snapshots.changes import ChangeFiles
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import Kept
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.threads import use_threads
from kgsync.training.updates import UpdateTask, strategy
from tests.benchmarks.table import aligned, machine
from tests.benchmarks.updates.chains import Chain

_DATA = Path(__file__).parents[3] / "shared" / "data"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_EVERYTHING = "#Concept"
"""Almost every entity has this type."""
_FEWEST = 50
"""Entities of a class."""
_RANKED = 1000
_MODELS = "transe:l1", "transe:l2", "distmult", "rescal", "complex", "rotate"
_METHODS = {"updated": "local", "retrained": "", "aligned": "retrain"}

Classes = NDArray[np.int64]


@dataclass(frozen=True)
class History:
    """Versions without `rdf:type`, and the class of every entity."""

    chain: Chain
    classes: Classes
    """By id; -1 without a class."""

    @classmethod
    def load(cls, data: Path, first: int, count: int) -> History:
        """Versions of nomisma.

        Args:
            data: Where the data sets are.
            first: Number of the version that the classifier is fitted on.
            count: How many versions follow.
        """
        versions = ChangeFiles.find(data / "nomisma").versions()
        built = list(islice(versions, first, first + count + 1))
        terms = built[-1].terms.keyed(b"kgsync")
        relation = terms.relations.iris.to_pylist().index(_TYPE)
        rest, types = [], []
        for version in built:
            typed = version.edges.relations == relation
            columns = version.edges.columns
            rest.append(Snapshot(*(column[~typed] for column in columns)))
            types.append(np.stack([column[typed] for column in columns[::2]]))
        iris = terms.entities.iris.to_pylist()
        classes = _classes(np.unique(np.concatenate(types, axis=1), axis=1), iris)
        return cls(Chain("nomisma without rdf:type", rest, terms), classes)


def _classes(typed: NDArray[np.int32], iris: list[str]) -> Classes:
    """The rarest type of every entity, among those that are frequent enough."""
    found, counts = np.unique(typed[1], return_counts=True)
    frequent = [
        kind
        for count, kind in sorted(zip(counts, found, strict=True), reverse=True)
        if count >= _FEWEST and not iris[kind].endswith(_EVERYTHING)
    ]
    classes = np.full(len(iris), -1)
    for number, kind in enumerate(frequent):
        classes[typed[0, typed[1] == kind]] = number
    return classes


class Classifier:
    """Logistic regression on vectors, standardised as those that it was fitted on."""

    def __init__(self, vectors: NDArray[np.float32], classes: Classes) -> None:
        """Fit it."""
        self._mean, self._spread = vectors.mean(0), vectors.std(0) + 1e-9
        rows, wanted = self._rows(vectors), torch.from_numpy(classes)
        self._weights = torch.zeros(rows.shape[1], int(classes.max()) + 1, requires_grad=True)
        fitting = torch.optim.LBFGS([self._weights], max_iter=100)

        def loss() -> torch.Tensor:
            fitting.zero_grad()
            scores = rows @ self._weights
            found = torch.nn.functional.cross_entropy(scores, wanted)
            found = found + 1e-3 * self._weights.square().sum()
            torch.autograd.backward(found)
            return found

        fitting.step(loss)  # type: ignore[no-untyped-call]

    def accuracy(self, vectors: NDArray[np.float32], classes: Classes) -> float:
        """The share of rows whose class it finds; NaN without rows."""
        if not len(classes):
            return float("nan")
        found = (self._rows(vectors) @ self._weights.detach()).argmax(1).numpy()
        return float((found == classes).mean())

    def _rows(self, vectors: NDArray[np.float32]) -> torch.Tensor:
        rows = torch.from_numpy((vectors - self._mean) / self._spread)
        return torch.cat([rows, torch.ones(len(rows), 1)], dim=1)


@dataclass
class Version:
    """A model of one version."""

    problem: Problem
    model: Model
    kept: Kept
    seconds: float = 0.0

    def labelled(
        self, classes: Classes, chosen: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], Classes]:
        """Vectors and classes of the chosen entities that have a class and a training triple."""
        ids = self.problem.active.entities
        trained = np.isin(ids, self.problem.split.train.entities)
        rows = np.flatnonzero((classes[ids] >= 0) & chosen[ids] & trained)
        return self.model.tables["entity"].numpy()[rows], classes[ids[rows]]

    @property
    def mrr(self) -> float:
        """Of test triples."""
        problem = self.problem
        sample = persistent_sample(problem.split.test, problem.terms, _RANKED)
        triples, count = problem.active.rows(sample), len(problem.split.test)
        return link_prediction(self.model, triples, problem.known, 256, count).mrr


@dataclass(frozen=True)
class Contest:
    """One model on a history."""

    history: History
    name: str
    epochs: int
    dimension: int

    def settings(self, method: str) -> Settings:
        """What a method runs with."""
        name, _, norm = self.name.partition(":")
        return Settings(
            model=ModelSettings(name, self.dimension, norm=norm or "l1"),  # type: ignore[arg-type]
            training=TrainingSettings(epochs=self.epochs, validate_every=0),
            update=UpdateSettings(strategy=_METHODS[method] or "local"),
        )

    def run(self) -> Iterator[list[str]]:
        """One row per version and method."""
        classes, chain = self.history.classes, self.history.chain
        fitted = np.random.default_rng(0).random(len(classes)) < 0.5
        first = self._trained(0)
        classifier = Classifier(*first.labelled(classes, fitted))
        known = np.isin(np.arange(len(classes)), first.problem.active.entities)
        yield self._row("first", 0, first, classifier, (~fitted & known, ~fitted & ~known), None)
        for method in _METHODS:
            current = first
            for number in range(1, len(chain.versions)):
                after = self._next(method, number, current)
                groups = ~fitted & known, ~fitted & ~known
                yield self._row(method, number, after, classifier, groups, current)
                current = after

    def _trained(self, number: int) -> Version:
        problem = self.history.chain.problem(number, self.settings("retrained"))
        started = time.process_time()
        model, run = train_offline(problem, Cost())
        return Version(problem, model, run.kept, time.process_time() - started)

    def _next(self, method: str, number: int, current: Version) -> Version:
        if not _METHODS[method]:
            return self._trained(number)
        problem = self.history.chain.problem(number, self.settings(method))
        started = time.process_time()
        before, change = current.problem.active, self.history.chain.change(number)
        model = carry_over(current.model, before, problem)
        phases = Phases(SilentListener())
        task = UpdateTask(model, before, change, problem, phases, Cost(), kept=current.kept)
        kept = strategy(_METHODS[method])(task).kept
        return Version(problem, model, kept, time.process_time() - started)

    def _row(
        self,
        method: str,
        number: int,
        version: Version,
        classifier: Classifier,
        groups: tuple[NDArray[np.bool_], NDArray[np.bool_]],
        before: Version | None,
    ) -> list[str]:
        classes = self.history.classes
        accuracies = [classifier.accuracy(*version.labelled(classes, some)) for some in groups]
        moved = "-"
        if before is not None:
            pair = before.model, before.problem.active, version.model, version.problem.active
            change = model_change(*pair, np.random.default_rng(0), sample=300)["entity"]
            moved = f"{change.nmc:.1e}" if change else "-"
        return [
            self.name,
            method,
            f"+{number}",
            *("-" if np.isnan(accuracy) else f"{accuracy:.3f}" for accuracy in accuracies),
            f"{version.mrr:.4f}",
            moved,
            f"{version.seconds:.1f}",
        ]


def main() -> None:
    """Run the contests and print one table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.alignment")
    parser.add_argument("--models", nargs="+", default=_MODELS, help="name, or name:norm")
    parser.add_argument("--first", type=int, default=1, help="the version to fit on")
    parser.add_argument("--versions", type=int, default=3, help="how many follow")
    parser.add_argument("--epochs", type=int, default=80, help="before annealing")
    parser.add_argument("--dimension", type=int, default=32)
    given = parser.parse_args()
    use_threads(1)
    print(machine(("kgsync", "numpy", "torch")), flush=True)
    data = Path(os.environ.get("KGSYNC_TEST_DATA", _DATA))
    history = History.load(data, given.first, given.versions)
    counts = ", ".join(f"{len(version):,}" for version in history.chain.versions)
    print(f"nomisma without rdf:type, {counts} edges; {history.classes.max() + 1} classes\n")
    rows = [["model", "method", "version", "old", "new", "MRR", "NMC", "CPU s"]]
    for name in given.models:
        for row in Contest(history, name, given.epochs, given.dimension).run():
            rows.append(row)
            print(" ".join(row), flush=True)
    print(f"\n{aligned(rows)}\n")
    print(
        "old, new: accuracy on entities of the first version, and on those that came later; none "
        "of them was used to fit the classifier. NMC: from the version before."
    )


if __name__ == "__main__":
    main()
