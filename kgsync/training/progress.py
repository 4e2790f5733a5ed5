"""Learning-rate decay, early stopping, and the best state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import TrainingError
from kgsync.evaluation.ranking import LinkPrediction
from kgsync.evaluation.stability import MeanChange
from kgsync.models.base import Kind, Model, Rows
from kgsync.training.kept import NOTHING_KEPT, Kept

__all__ = [
    "NOT_FINITE",
    "Alignment",
    "BestState",
    "Choice",
    "Observe",
    "Plateau",
    "Progress",
    "TrainingRun",
    "no_observer",
    "no_progress",
]

NOT_FINITE = (
    "the vectors are no longer finite numbers; lower the learning rate "
    "(training.learning_rate, update.general_learning_rate)"
)

Progress = Callable[[str, int, int], None]
"""Called with the name of a phase, how far it is, and how far it goes."""


Observe = Callable[[int, Model, LinkPrediction], None]
"""Called at every validation with the epoch, the model as it is then, and its quality."""


def no_progress(phase: str, done: int, total: int) -> None:
    """Does nothing."""


def no_observer(epoch: int, model: Model, quality: LinkPrediction) -> None:
    """Does nothing."""


@dataclass(frozen=True)
class Alignment:
    """How retrained vectors were brought into the space of the old ones."""

    method: str
    moved_before: dict[Kind, MeanChange | None]
    """How far vectors had moved before they were mapped."""


@dataclass(frozen=True)
class Choice:
    """How vectors are updated."""

    strategy: str
    reason: str = ""
    """Why, if the strategy was chosen for the change."""
    predicted: Mapping[str, int] = field(default_factory=dict)
    """The score evaluations that the strategies were predicted to take, if one was chosen."""
    scores: int | None = None
    """The score evaluations that it took."""


@dataclass
class TrainingRun:
    """What a training run did, for the report."""

    epochs: int = 0
    best_epoch: int | None = None
    """Epoch that was returned to; None without validation."""
    best: LinkPrediction | None = None
    """What its validation found."""
    stopped_early: bool = False
    final_loss: float | None = None
    validations: list[tuple[int, float]] = field(default_factory=list)
    """(epoch, Hits@10) of every validation."""
    kept: Kept = NOTHING_KEPT
    """What the next update is told."""
    choice: Choice | None = None
    """How the vectors were updated, if they were."""
    touched: Mapping[Kind, NDArray[np.int64]] | None = None
    """Rows that may have moved, and those of new elements; all of them if it is None."""
    alignment: Alignment | None = None
    """What was done after retraining, if the vectors were to stay in the old space."""


class Plateau:
    """Multiplies the learning rate by 0.95 when the loss has not fallen by 0.5 % for 20 epochs."""

    def __init__(self, factor: float = 0.95, fall: float = 0.005, epochs: int = 20) -> None:
        """Start at full rate."""
        self.scale = 1.0
        self._factor, self._fall, self._epochs = factor, fall, epochs
        self._best = float("inf")
        self._waited = 0

    def see(self, loss: float) -> None:
        """Take note of one epoch's loss."""
        if loss < self._best * (1 - self._fall):
            self._best, self._waited = loss, 0
            return
        self._waited += 1
        if self._waited >= self._epochs:
            self.scale *= self._factor
            self._waited = 0


class BestState:
    """Keeps the best validated state of a model, and decides when to stop."""

    def __init__(
        self,
        model: Model,
        patience: int,
        run: TrainingRun,
        observe: Observe = no_observer,
        states: Rows | None = None,
    ) -> None:
        """Watch a model.

        Args:
            model: The model whose tables are kept.
            patience: Validations without a gain before stopping.
            run: Where the validations are noted.
            observe: Also told about every validation.
            states: The optimiser's, which are kept and put back with the tables.
        """
        self._states = states or {}
        self._best_states: Rows = {}
        self._observe = observe
        self._model = model
        self._patience = patience
        self._run = run
        self._tables: Rows | None = None
        self._best = -1.0
        self._without_gain = 0

    def see(self, epoch: int, quality: LinkPrediction) -> bool:
        """Take note of a validation; returns whether to stop."""
        hits = quality.hits[10]
        self._run.validations.append((epoch, hits))
        self._observe(epoch, self._model, quality)
        if hits > self._best:
            self._best, self._without_gain = hits, 0
            self._tables = self._model.copy_tables()
            self._best_states = {name: state.clone() for name, state in self._states.items()}
            self._run.best_epoch, self._run.best = epoch, quality
            return False
        self._without_gain += 1
        self._run.stopped_early = self._without_gain >= self._patience
        return self._run.stopped_early

    def restore(self) -> None:
        """Put the best state back, if any was seen.

        Raises:
            TrainingError: The vectors are not finite numbers.
        """
        if self._tables is not None:
            for name, table in self._tables.items():
                self._model.tables[name].copy_(table)
            for name, state in self._best_states.items():
                self._states[name].copy_(state)
        self._model.normalize()
        if not all(bool(table.isfinite().all()) for table in self._model.tables.values()):
            raise TrainingError(NOT_FINITE)
