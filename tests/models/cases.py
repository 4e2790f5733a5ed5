"""The table of models under test, each with its formula written out once more without torch.

A new model gets at least one line in `CASES`; `test_every_model` fails until it has. It may stand
here, or in a file `case_<name>.py` beside this one, with `WHOLE` and `LEARNERS` for the suites of
ranking and learning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.config import ModelSettings
from kgsync.models import model_class
from kgsync.models.base import Model, Rows
from tests.models import loss_logistic, loss_margin
from tests.thinning import thinned

Numbers: TypeAlias = NDArray[np.float64]
Vectors: TypeAlias = dict[str, Numbers]
"""The vectors of one element, by table name."""
Scored: TypeAlias = tuple[Vectors, Vectors, Vectors]
"""The vectors of head, relation and tail of one triple."""


@dataclass(frozen=True)
class ModelCase:
    """One model with one choice of settings, and what is expected of it."""

    settings: ModelSettings
    score: Callable[[Vectors, Vectors, Vectors], float]
    """f_r(h, t) of one triple."""
    loss: Callable[[Sequence[float], Sequence[float], ModelSettings], float]
    """Loss of a batch from its true and its false scores."""
    optimizer: str
    learning_rate: float
    dimension: int = 100
    """The paper's."""
    penalty: Callable[[Sequence[Scored], ModelSettings], float] | None = None
    """Penalty over the true and false triples of a batch."""
    constraint: Callable[[Sequence[Vectors]], float] | None = None
    """Soft constraint on the relations of a batch, each given once."""
    symmetric: bool = False

    @property
    def name(self) -> str:
        """For the test report."""
        chosen = self.settings
        width = f"-{chosen.dimension}x{chosen.relation_dimension}"
        return f"{chosen.name}-{chosen.norm}" + (width if chosen.relation_dimension else "")

    def random(
        self, entities: int, relations: int, seed: int = 0, dtype: torch.dtype = torch.float64
    ) -> Model:
        """A random model; in double precision, so that rounding hides nothing, unless told."""
        chosen = model_class(self.settings.name)
        generator = torch.Generator().manual_seed(seed)
        model = chosen.random(self.settings, entities, relations, generator)
        return chosen(self.settings, {name: t.to(dtype) for name, t in model.tables.items()})


def vectors(rows: Rows, at: int) -> Vectors:
    """One element's vectors out of gathered rows."""
    return {name: table[at].detach().double().numpy() for name, table in rows.items()}


def assert_same_vectors(model: Model, expected: Rows) -> None:
    """Vectors are the same to the bit; where only the direction counts, that at length one."""
    assert set(model.tables) == set(expected)
    for name, spec in model.layout(model.settings).items():
        table, wanted = model.tables[name], expected[name]
        if spec.unit:
            wanted = wanted / wanted.square().sum(1, keepdim=True).sqrt()
            torch.testing.assert_close(table, wanted)
        else:
            assert torch.equal(table, wanted)


def _l1(gap: Numbers) -> float:
    return sum(abs(float(x)) for x in gap)


def _l2sq(gap: Numbers) -> float:
    return sum(float(x) * float(x) for x in gap)


def _l2(gap: Numbers) -> float:
    return sqrt(_l2sq(gap))


NORMS = {"l1": _l1, "l2": _l2, "l2sq": _l2sq}


def _unit(vector: Numbers) -> Numbers:
    return vector / _l2(vector)


def _as_it_is(entity: Vectors, relation: Vectors) -> Numbers:
    return entity["entity"]


def _onto_hyperplane(entity: Vectors, relation: Vectors) -> Numbers:
    """TransH: (I - w wᵀ) e with w of length one."""
    normal = _unit(relation["normal"])
    return (np.eye(len(normal)) - np.outer(normal, normal)) @ entity["entity"]


def _into_relation_space(entity: Vectors, relation: Vectors) -> Numbers:
    """TransD: (r_p e_pᵀ + I) e, brought to length one; I has as many rows as r has numbers."""
    along, across = relation["relation_projection"], entity["entity_projection"]
    matrix = np.outer(along, across) + np.eye(len(along), len(across))
    return _unit(matrix @ entity["entity"])


def _translated(
    settings: ModelSettings, project: Callable[[Vectors, Vectors], Numbers]
) -> Callable[[Vectors, Vectors, Vectors], float]:
    def score(head: Vectors, relation: Vectors, tail: Vectors) -> float:
        gap = project(head, relation) + relation["relation"] - project(tail, relation)
        return -NORMS[settings.norm](gap)

    return score


def _distmult(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    columns = zip(head["entity"], relation["relation"], tail["entity"], strict=True)
    return float(sum(h * r * t for h, r, t in columns))


def _rescal(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    h, t = head["entity"], tail["entity"]
    width = len(h)
    matrix = relation["relation"]  # row after row
    places = [(i, j) for i in range(width) for j in range(width)]
    return float(sum(h[i] * matrix[i * width + j] * t[j] for i, j in places))


def _analogy(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    """The block-diagonal matrix itself: scalars, then blocks [[a, b], [-b, a]]."""
    width = len(relation["relation"])
    scalars, real, imaginary = np.split(relation["relation"], [width // 2, width * 3 // 4])
    matrix = np.zeros((width, width))
    for i, scalar in enumerate(scalars):
        matrix[i, i] = scalar
    for i, (a, b) in enumerate(zip(real, imaginary, strict=True)):
        at = width // 2 + 2 * i
        matrix[at : at + 2, at : at + 2] = [[a, b], [-b, a]]
    # The model keeps first halves of pairs together, and second halves.
    pairs = [(width // 2 + i, width * 3 // 4 + i) for i in range(width // 4)]
    order = [*range(width // 2), *(i for pair in pairs for i in pair)]
    return float(head["entity"][order] @ matrix @ tail["entity"][order])


def _complex(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    """Re Σ h·r·conj(t) over complex numbers."""
    h, r, t = (
        real + 1j * imaginary
        for real, imaginary in (
            np.split(v, 2) for v in (head["entity"], relation["relation"], tail["entity"])
        )
    )
    return float((h * r * t.conj()).sum().real)


def _mean_squares(triples: Sequence[Scored], settings: ModelSettings) -> float:
    """0.02 · (mean h² + mean r² + mean t²), over triples and coordinates."""
    heads = np.stack([head["entity"] for head, _, _ in triples])
    relations = np.stack([relation["relation"] for _, relation, _ in triples])
    tails = np.stack([tail["entity"] for _, _, tail in triples])
    means = [float((block * block).mean()) for block in (heads, relations, tails)]
    return settings.l2_penalty * sum(means)


def _on_hyperplanes(relations: Sequence[Vectors]) -> float:
    """C Σ [ (w·r)² / ‖r‖² - ε² ]₊ with C = 1/64 and ε = 1e-3."""
    excess = (
        float(_unit(relation["normal"]) @ relation["relation"]) ** 2 / _l2sq(relation["relation"])
        - 1e-3**2
        for relation in relations
    )
    return sum(max(0.0, x) for x in excess) / 64


def _translational(
    settings: ModelSettings,
    project: Callable[[Vectors, Vectors], Numbers],
    constraint: Callable[[Sequence[Vectors]], float] | None = None,
) -> ModelCase:
    score = _translated(settings, project)
    return ModelCase(settings, score, loss_margin.of_batch, "sgd", 0.001, constraint=constraint)


CASES = [
    _translational(ModelSettings("transe", 4, norm="l1"), _as_it_is),
    _translational(ModelSettings("transe", 4, norm="l2"), _as_it_is),
    _translational(ModelSettings("transe", 4, norm="l2sq"), _as_it_is),
    _translational(ModelSettings("transh", 4, norm="l1"), _onto_hyperplane, _on_hyperplanes),
    _translational(ModelSettings("transh", 4, norm="l2sq"), _onto_hyperplane, _on_hyperplanes),
    _translational(ModelSettings("transd", 4, norm="l1"), _into_relation_space),
    _translational(ModelSettings("transd", 4, 3, norm="l1"), _into_relation_space),
    _translational(ModelSettings("transd", 4, 6, norm="l2sq"), _into_relation_space),
    ModelCase(
        settings=ModelSettings("distmult", 4),
        score=_distmult,
        loss=loss_logistic.of_batch,
        optimizer="adagrad",
        learning_rate=0.1,
        penalty=_mean_squares,
        symmetric=True,
    ),
    ModelCase(
        settings=ModelSettings("rescal", 4),
        score=_rescal,
        loss=loss_margin.of_batch,
        optimizer="adagrad",
        learning_rate=0.1,
        dimension=50,
    ),
    ModelCase(
        settings=ModelSettings("analogy", 8),
        score=_analogy,
        loss=loss_logistic.of_batch,
        optimizer="adagrad",
        learning_rate=0.1,
        penalty=_mean_squares,
    ),
    ModelCase(
        settings=ModelSettings("complex", 6),
        score=_complex,
        loss=loss_logistic.of_batch,
        optimizer="adagrad",
        learning_rate=0.1,
        penalty=_mean_squares,
    ),
]


def of_files(table: str) -> list[Any]:
    """The lines of a table that stand in files of single models."""
    files = sorted(Path(__file__).parent.glob("case_*.py"))
    modules = [import_module(f"tests.models.{file.stem}") for file in files]
    return [line for module in modules for line in getattr(module, table)]


CASES += of_files("CASES")
EVERY_CASE = thinned(CASES, lambda case: case.name not in ("transh-l2sq", "transd-l2sq-4x6"))
"""For `parametrize`. The norms are the same code for all models: TransE has all three."""
