"""Fixtures of the tests of training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import torch

from kgsync.evaluation.ranking import LinkPrediction
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model, Rows
from kgsync.training import backends
from kgsync.training.problem import Problem
from kgsync.training.samplers import CorrectedSampler, CorruptedSampler
from kgsync.training.torch_backend.trainer import Trainer


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Vectors are only promised to repeat with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass
class Draws:
    """What the samplers were asked for and what they gave."""

    corrupted: list[tuple[TripleRows, TripleRows]] = field(default_factory=list)
    """(true triples, false triples), without those that have no corruption."""
    corrected: list[tuple[TripleRows, TripleRows]] = field(default_factory=list)
    """(deleted triples, true triples)."""


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Draws:
    """A record of all that the samplers draw during a test; the kernels draw by themselves."""
    monkeypatch.setattr(backends, "uses_kernels", lambda run, model: False)
    record = Draws()
    corrupt, correct = CorruptedSampler.draw, CorrectedSampler.draw

    def recorded_corrupt(self: CorruptedSampler, triples: TripleRows) -> object:
        false, possible = corrupt(self, triples)
        record.corrupted.append((triples[:, possible], false[:, possible]))
        return false, possible

    def recorded_correct(self: CorrectedSampler, deleted: TripleRows) -> TripleRows:
        true = correct(self, deleted)
        record.corrected.append((deleted, true))
        return true

    monkeypatch.setattr(CorruptedSampler, "draw", recorded_corrupt)
    monkeypatch.setattr(CorrectedSampler, "draw", recorded_correct)
    return record


@dataclass
class Validations:
    """Results that validations are to report, and the model's state at each of them."""

    script: list[float] = field(default_factory=list)
    """Hits@10 of each validation; those past the end report 0."""
    states: list[Rows] = field(default_factory=list)


@pytest.fixture
def validations(monkeypatch: pytest.MonkeyPatch) -> Validations:
    """Validations that report what a test wants to hear."""
    record = Validations()

    def scripted(self: Problem, model: Model) -> LinkPrediction:
        number = len(record.states)
        record.states.append(model.copy_tables())
        hits = record.script[number] if number < len(record.script) else 0.0
        by_k = {1: 0.0, 3: 0.0, 10: hits, 100: 1.0}
        return LinkPrediction(
            1.0, 0.5, by_k, triples=1, sampled_from=1, mrr_error=0.0, hits_at_10_error=0.0
        )

    monkeypatch.setattr(Problem, "validate", scripted)
    return record


@dataclass
class Epochs:
    """The kinds and rates of epochs, which do nothing but return a loss."""

    ran: list[tuple[str, float]] = field(default_factory=list)
    general_loss: float = 1.0
    change_loss: float = 1.0

    def rates(self, kind: str) -> list[float]:
        """The rates of one kind of epoch."""
        return [rate for kind_, rate in self.ran if kind_ == kind]


@pytest.fixture
def epochs(monkeypatch: pytest.MonkeyPatch) -> Epochs:
    """Epochs that are only noted down."""
    monkeypatch.setattr(backends, "uses_kernels", lambda run, model: False)
    record = Epochs()

    def general(self: Trainer, rate: float) -> float:
        record.ran.append(("general", rate))
        return record.general_loss

    def change(
        self: Trainer,
        added: TripleRows,
        deleted: TripleRows,
        corrected: CorrectedSampler,
        rate: float,
    ) -> float:
        record.ran.append(("change", rate))
        return record.change_loss

    monkeypatch.setattr(Trainer, "general_epoch", general)
    monkeypatch.setattr(Trainer, "change_epoch", change)
    return record
