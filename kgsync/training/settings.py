"""The settings of training and updating, `[training]`, `[update]` and `[run]`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Literal, Protocol

from kgsync.common.declare import Rule, setting, with_old_names
from kgsync.evaluation.settings import EvaluationSettings
from kgsync.models.parts.titles import titles_of, values_of
from kgsync.models.settings import ModelSettings

__all__ = [
    "InitialVectors",
    "LearningSettings",
    "NegativeSampling",
    "RunSettings",
    "TrainingSettings",
    "UpdateSettings",
    "anneals",
    "remembers",
    "strategies",
]

InitialVectors = Literal["average", "random", "best", "balance", "jumps"]
NegativeSampling = Literal["uniform", "bernoulli"]


_LARGEST_RATE = 1_000_000
"""Far above any useful rate, far below the largest single-precision number."""
_UNSET: float | None = None
_UPDATES = Path(__file__).parent / "updates"


def _rate(help: str | Callable[[], str], example: float, paper: str | None = None) -> float | None:  # noqa: A002
    """Declare a learning rate."""
    return setting(_UNSET, help, above=0, at_most=_LARGEST_RATE, paper=paper, example=example)


@with_old_names
@dataclass(frozen=True)
class TrainingSettings:
    """Training from scratch (alg. TDSM_offline)."""

    epochs: int = setting(1000, "Maximum number of epochs.", at_least=0)
    batches: int = setting(100, "Batches per epoch.", at_least=1)
    steps: Literal["batch", "pair"] = setting(
        "batch",
        lambda: (
            "When vectors move: once per batch, as in the paper, or after every pair of a positive "
            "and a negative triple, which is faster; only for "
            f"{titles_of(lambda model: model.steps_by_pair)}, and not with torch."
        ),
    )
    negative_sampling: NegativeSampling = setting(
        "uniform",
        "Which side of a triple is replaced to make a negative: either with the same probability, "
        'as in the paper, or, with "bernoulli", more often the side with fewer correct entities '
        "for the relation.",
        was="corruption",
    )
    learning_rate: float | None = _rate(
        lambda: f"Learning rate; if not set, {values_of(lambda model: model.learning_rate)}.",
        0.001,
    )
    validate_every: int = setting(
        10, "Epochs between validations; 0 switches validation off.", at_least=0
    )
    patience: int = setting(
        10, "Validations without a gain in Hits@10 before training stops.", at_least=1
    )
    annealing: float | None = setting(
        _UNSET,
        "Epochs at the end in which the learning rate falls to almost 0, as a share of those "
        'before; if not set, 0 with update.strategy = "paper", as in the paper, else 0.25.',
        at_least=0,
        at_most=10,
        example=0.25,
    )


def strategies() -> Mapping[str, str]:
    """All update strategies, with the first lines of their docstrings.

    They are the files of `updates/` with a function `update`. The files are read, not imported:
    they would load torch.
    """
    found = {}
    for name in sorted(file.name for file in iter_modules([str(_UPDATES)]) if not file.ispkg):
        module = _read(name)
        if any(isinstance(part, ast.FunctionDef) and part.name == "update" for part in module.body):
            first = (ast.get_docstring(module) or "").partition("\n")[0]
            found[name] = first[:1].lower() + first[1:].removesuffix(".")
    return found


def remembers(strategy: str) -> bool:
    """Whether updates with a strategy build on what the updates before have left.

    A file says `REMEMBERS = False` if they do not.
    """
    return _says(strategy, "REMEMBERS")


def anneals(strategy: str) -> bool:
    """Whether the first version is annealed with a strategy, if the settings do not say.

    A file says `ANNEALS = False` if it is not.
    """
    return _says(strategy, "ANNEALS")


def _says(strategy: str, name: str) -> bool:
    """What a file of `updates/` says, which is not imported; True if it says nothing."""
    for line in _read(strategy).body:
        if isinstance(line, ast.Assign) and [ast.unparse(t) for t in line.targets] == [name]:
            return bool(ast.literal_eval(line.value))
    return True


@cache
def _read(strategy: str) -> ast.Module:
    return ast.parse((_UPDATES / f"{strategy}.py").read_text(encoding="utf-8"))


@with_old_names
@dataclass(frozen=True)
class UpdateSettings:
    """Updating to a new version of the graph (alg. TDSM_online)."""

    strategy: str = setting(
        "paper",
        "How vectors are updated.",
        choices=strategies,
        by_name=True,
    )
    initial_vectors: InitialVectors = setting(
        "average",
        lambda: (
            'Initial vectors of new elements: "average" of the others (ave), "random" (ran), or, '
            f'for {titles_of(lambda model: model.closed_forms)}, the "best" place for their '
            'positive triples (pos), its "balance" with negative ones (neg), or "jumps" away from '
            "negative ones (neg2)."
        ),
        paper="preInit",
        was="start_vectors",
    )
    initial_negatives: int = setting(
        0,
        'Negatives per positive triple in finding initial vectors; 0 takes 1 for "balance", 4 for '
        '"jumps".',
        at_least=0,
        paper="preNegs",
        was="start_negatives",
    )
    jump_rounds: int = setting(10, "Maximum rounds of jumps.", at_least=0, paper="jumpLim")
    jump_size: float = setting(
        0.5,
        "Length of a jump, as a share of the distance to the best position.",
        above=0,
        paper="jumpSize",
    )
    pretraining_epochs: int = setting(
        50,
        "Pretraining epochs, in which only new elements move; 0 keeps their initial vectors.",
        at_least=0,
        paper="initTimes",
    )
    pretraining_negatives: int = setting(
        1, "Negatives per positive triple in the pretraining epochs.", at_least=1, paper="initNegs"
    )
    pretraining_learning_rate: float | None = _rate(
        "Learning rate of the pretraining epochs; that of training from scratch if not set.",
        0.001,
        "initLR",
    )
    change_epochs: int = setting(
        20, "Epochs on the added and deleted triples only.", at_least=0, paper="csNum"
    )
    general_epochs: int = setting(180, "Epochs on all training triples.", at_least=0, paper="geNum")
    change_learning_rate: float | None = _rate(
        "Learning rate of the change epochs; half of the general rate if not set.", 0.0001, "csLR"
    )
    general_learning_rate: float | None = _rate(
        "Learning rate of the general epochs; a fifth of that of training from scratch if not set.",
        0.0002,
        "geLR",
    )
    skip_new_elements: bool = setting(
        False,
        "Exclude added triples that contain a new element from the change epochs.",
        paper="csRestrict",
    )
    validate_every: int = setting(
        10, "Epochs between validations; 0 switches validation off.", at_least=0
    )
    patience: int = setting(
        10, "Validations without a gain in Hits@10 before an update stops.", at_least=1
    )


@dataclass(frozen=True)
class RunSettings:
    """Seed, threads, backend and device."""

    seed: int = setting(0, "Seed of all random numbers.")
    threads: int = setting(
        1,
        "Maximum CPU threads; 0 takes all. With 1 the same input and seed give the same vectors.",
        at_least=0,
        at_most=1024,
    )
    backend: Literal["auto", "cpu", "torch"] = setting(
        "auto",
        'Compute backend: compiled kernels on the CPU ("auto" uses them there), or torch.',
    )
    device: str = setting(
        "cpu",
        'Where torch trains: any device it knows, like "cuda", "cuda:1" or "mps". On devices other '
        "than the CPU, runs may not be reproducible bit by bit.",
    )

    def rules(self) -> Iterator[Rule]:
        """Rules that bounds cannot express."""
        yield Rule(
            self.backend != "cpu" or self.device == "cpu",
            ("backend", "device"),
            f"backend = 'cpu' cannot use device = {self.device!r}; use 'torch'",
        )


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
        """Seed, threads, backend and device."""
