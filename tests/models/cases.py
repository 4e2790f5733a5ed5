"""The table of models under test, each with its formula written out once more without torch.

A new model gets at least one line in `CASES`; `test_every_model` fails until it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log1p, sqrt
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.config import ModelSettings
from kgsync.models import model_class
from kgsync.models.base import Model, Rows

Vectors: TypeAlias = dict[str, NDArray[np.float64]]
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
    penalty: Callable[[Sequence[Scored], ModelSettings], float] | None
    """Penalty over the true and false triples of a batch."""
    optimizer: str
    learning_rate: float
    symmetric: bool

    @property
    def name(self) -> str:
        """For the test report."""
        return f"{self.settings.name}-{self.settings.norm}"

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


def _gap(head: Vectors, relation: Vectors, tail: Vectors) -> list[float]:
    columns = zip(head["entity"], relation["relation"], tail["entity"], strict=True)
    return [h + r - t for h, r, t in columns]


def _transe_l1(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    return -sum(abs(x) for x in _gap(head, relation, tail))


def _transe_l2(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    return -sqrt(sum(x * x for x in _gap(head, relation, tail)))


def _distmult(head: Vectors, relation: Vectors, tail: Vectors) -> float:
    columns = zip(head["entity"], relation["relation"], tail["entity"], strict=True)
    return float(sum(h * r * t for h, r, t in columns))


def _summed_margin(true: Sequence[float], false: Sequence[float], settings: ModelSettings) -> float:
    return sum(max(0.0, settings.margin - p + n) for p, n in zip(true, false, strict=True))


def _averaged_logistic(
    true: Sequence[float], false: Sequence[float], settings: ModelSettings
) -> float:
    signed = [(1, score) for score in true] + [(-1, score) for score in false]
    return sum(log1p(exp(-y * score)) for y, score in signed) / len(signed)


def _mean_squares(triples: Sequence[Scored], settings: ModelSettings) -> float:
    """0.02 · (mean h² + mean r² + mean t²), over triples and coordinates."""
    heads = np.stack([head["entity"] for head, _, _ in triples])
    relations = np.stack([relation["relation"] for _, relation, _ in triples])
    tails = np.stack([tail["entity"] for _, _, tail in triples])
    means = [float((block * block).mean()) for block in (heads, relations, tails)]
    return settings.l2_penalty * sum(means)


CASES = [
    ModelCase(
        settings=ModelSettings(name="transe", dimension=4, norm="l1"),
        score=_transe_l1,
        loss=_summed_margin,
        penalty=None,
        optimizer="sgd",
        learning_rate=0.001,
        symmetric=False,
    ),
    ModelCase(
        settings=ModelSettings(name="transe", dimension=4, norm="l2"),
        score=_transe_l2,
        loss=_summed_margin,
        penalty=None,
        optimizer="sgd",
        learning_rate=0.001,
        symmetric=False,
    ),
    ModelCase(
        settings=ModelSettings(name="distmult", dimension=4),
        score=_distmult,
        loss=_averaged_logistic,
        penalty=_mean_squares,
        optimizer="adagrad",
        learning_rate=0.1,
        symmetric=True,
    ),
]
