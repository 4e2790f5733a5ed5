"""The settings of training and updating, `[training]`, `[update]` and `[run]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from kgsync.evaluation.settings import EvaluationSettings
from kgsync.models.settings import ModelSettings

__all__ = [
    "Corruption",
    "LearningSettings",
    "Rates",
    "RunSettings",
    "StartVectors",
    "TrainingSettings",
    "UpdateSettings",
]

StartVectors = Literal["average", "random", "best", "balance", "jumps"]
Corruption = Literal["uniform", "bernoulli"]


@dataclass(frozen=True)
class TrainingSettings:
    """Training from scratch (alg. TDSM_offline)."""

    epochs: int = 1000
    batches: int = 100
    """Batches an epoch."""
    steps: Literal["batch", "pair"] = "batch"
    """When vectors move: once a batch, as in the paper, or after every pair of a true and a false
    triple, which is faster; only for TransE, and not with torch."""
    corruption: Corruption = "uniform"
    """Which side of a triple is replaced to make it false: either alike, as in the paper, or, with
    "bernoulli", more often the one that has fewer true answers, by relation."""
    learning_rate: float | None = None
    """Model default: 0.001 (translational), 0.1 (semantic matching)."""
    validate_every: int = 10
    """Epochs between validations; 0 switches validation off."""
    patience: int = 10
    """Validations without a gain in Hits@10 before training stops."""


@dataclass(frozen=True)
class UpdateSettings:
    """Updating (alg. TDSM_online); the paper's parameter names in brackets."""

    start_vectors: StartVectors = "average"
    """Start of new elements (preInit): "average" of those that stay (ave), "random" (ran), or, for
    TransE and TransH, the "best" place for their true triples (pos), its "balance" with false
    ones (neg), or "jumps" away from false ones (neg2)."""
    start_negatives: int = 0
    """False triples for each true one (preNegs); 0 takes 1 for "balance", 4 for "jumps"."""
    jump_rounds: int = 10
    """At most so many rounds of jumps (jumpLim)."""
    jump_size: float = 0.5
    """Length of a jump, as a share of the way to the best place (jumpSize)."""
    pretraining_epochs: int = 50
    """Epochs in which only new elements move (initTimes); 0 leaves their start vectors alone."""
    pretraining_negatives: int = 1
    """False triples for each true one in these epochs (initNegs)."""
    pretraining_learning_rate: float | None = None
    """The rate of training from scratch if not set (initLR)."""
    change_epochs: int = 20
    """Epochs on the added and deleted triples only (csNum)."""
    general_epochs: int = 180
    """Epochs on all training triples (geNum)."""
    change_learning_rate: float | None = None
    """Half of the general rate if not set (csLR)."""
    general_learning_rate: float | None = None
    """A fifth of the rate of training from scratch if not set (geLR)."""
    skip_new_elements: bool = False
    """Leave added triples that touch a new element out of the change epochs (csRestrict)."""
    validate_every: int = 10
    patience: int = 10


@dataclass(frozen=True)
class RunSettings:
    """How the work is done."""

    seed: int = 0
    threads: int = 1
    """CPU threads at most; 0 takes all. With 1 the same input and seed give the same vectors."""
    backend: Literal["auto", "cpu", "torch"] = "auto"
    """What computes: compiled kernels on the CPU (auto takes them there), or torch."""
    device: str = "cpu"
    """Where torch trains: any device it knows, as "cuda", "cuda:1" or "mps". On others than the
    CPU, runs need not repeat to the bit."""


class Rates(NamedTuple):
    """Learning rates, each derived from an earlier one where it is not set."""

    training: float
    pretraining: float
    general: float
    change: float


class LearningSettings(Protocol):
    """The sections that training and updating need."""

    @property
    def model(self) -> ModelSettings:
        """Which model."""

    @property
    def training(self) -> TrainingSettings:
        """How it is trained from scratch."""

    @property
    def update(self) -> UpdateSettings:
        """How it is updated."""

    @property
    def evaluation(self) -> EvaluationSettings:
        """How it is validated and tested."""

    @property
    def run(self) -> RunSettings:
        """Who computes."""

    def rates(self) -> Rates:
        """The learning rates in force."""
