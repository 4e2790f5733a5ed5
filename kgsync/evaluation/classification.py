"""Triple classification with one threshold per relation, chosen on the validation triples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.errors import TrainingError, UndefinedMetricError
from kgsync.graph.active import TripleRows, TripleSet
from kgsync.models.base import Model

__all__ = ["Classification", "triple_classification"]

_ROUNDS = 16
_BLOCK = 10_000  # triples at a time: RESCAL gathers a matrix for each
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Classification:
    """Accuracy on test triples and as many negatives."""

    accuracy: float
    triples: int
    """Positive triples that were classified."""
    left_out: int
    """Positives for which no negative could be sampled."""


def triple_classification(
    model: Model,
    edges: TripleRows,
    validation: TripleRows,
    test: TripleRows,
    random: np.random.Generator,
) -> Classification:
    """Choose thresholds on the validation triples, and classify the test triples.

    A negative has another tail that occurs with the relation, and is not an edge.

    Args:
        model: The model.
        edges: All positive triples of the version.
        validation: Triples that the thresholds are chosen on.
        test: Triples that are classified.
        random: Samples the negatives.

    Raises:
        UndefinedMetricError: There is no triple to choose thresholds on, or none to classify.
        TrainingError: A score is NaN.
    """
    draw = _Tails(model, edges, random)
    held_out, _ = draw.pairs(validation)
    asked, left_out = draw.pairs(test)
    if not held_out.shape[1] or not asked.shape[1]:
        raise UndefinedMetricError(
            "triple classification needs validation and test triples that have negatives"
        )
    thresholds = _thresholds(held_out[1], *_scores(model, held_out), model.sizes["relation"])
    true, false = _scores(model, asked)
    limit = thresholds[asked[1]]
    accuracy = float(((true > limit).mean() + (false <= limit).mean()) / 2)
    return Classification(accuracy, asked.shape[1], left_out)


class _Tails:
    """Samples negative tails among those that occur with a relation."""

    def __init__(self, model: Model, edges: TripleRows, random: np.random.Generator) -> None:
        sizes = model.sizes
        self._known = TripleSet(edges, sizes["entity"], sizes["relation"])
        seen = np.unique(edges[1] * sizes["entity"] + edges[2])
        self._tails = seen % sizes["entity"]
        self._start = np.searchsorted(seen, np.arange(sizes["relation"] + 1) * sizes["entity"])
        self._random = random

    def pairs(self, triples: TripleRows) -> tuple[TripleRows, int]:
        """Triples with an extra row for the negative tail, and how many have none."""
        heads, relations, _ = triples
        false = triples.copy()
        open_ = np.arange(triples.shape[1])
        for _ in range(_ROUNDS):
            false[2, open_] = self._draw(relations[open_])
            open_ = open_[self._known.contains(false[:, open_])]
            if not len(open_):
                break
        found = np.ones(triples.shape[1], bool)
        for at in open_:
            free = self._free(int(heads[at]), int(relations[at]))
            found[at] = len(free) > 0
            if len(free):
                false[2, at] = self._random.choice(free)
        pairs = np.concatenate([triples, false[2:]])[:, found]
        return pairs, int((~found).sum())

    def _draw(self, relations: NDArray[np.int64]) -> NDArray[np.int64]:
        start, end = self._start[relations], self._start[relations + 1]
        position = start + (self._random.random(len(relations)) * (end - start)).astype(np.int64)
        tails: NDArray[np.int64] = self._tails[position]
        return tails

    def _free(self, head: int, relation: int) -> NDArray[np.int64]:
        tails = self._tails[self._start[relation] : self._start[relation + 1]]
        triples = np.stack([np.full_like(tails, head), np.full_like(tails, relation), tails])
        free: NDArray[np.int64] = tails[~self._known.contains(triples)]
        return free


def _scores(model: Model, pairs: TripleRows) -> tuple[Scores, Scores]:
    """Scores of the positives and of the negatives."""
    true, wrong = np.empty((2, pairs.shape[1]))
    for start in range(0, pairs.shape[1], _BLOCK):
        part = slice(start, start + _BLOCK)
        heads, relations, tails, false = (torch.from_numpy(column[part]) for column in pairs)
        head, relation = model.rows("entity", heads), model.rows("relation", relations)
        for scores, rows in ((true, tails), (wrong, false)):
            scores[part] = model.score(head, relation, model.rows("entity", rows)).numpy()
    if np.isnan(true).any() or np.isnan(wrong).any():
        raise TrainingError("a score is NaN: the vectors cannot be used")
    return true, wrong


def _thresholds(relations: NDArray[np.int64], true: Scores, false: Scores, count: int) -> Scores:
    """For each relation the threshold of highest accuracy; a global one where there is none."""
    thresholds = np.full(count, _threshold(true, false))
    order = np.argsort(relations, kind="stable")
    present, start = np.unique(relations[order], return_index=True)
    for relation, at in zip(present, np.split(order, start[1:]), strict=True):
        thresholds[relation] = _threshold(true[at], false[at])
    return thresholds


def _threshold(true: Scores, false: Scores) -> float:
    """The middle of the gap above which a triple is classified as positive."""
    scores = np.concatenate([true, false])
    order = np.argsort(scores, kind="stable")
    sorted_ = scores[order]
    signs = np.where(order < len(true), -1, 1)
    # With the k lowest classified as negative: their positives are wrong, their negatives right.
    gains = np.concatenate([[0], np.cumsum(signs)])
    cuts = np.concatenate([[True], sorted_[1:] > sorted_[:-1], [True]])
    k = int(np.argmax(np.where(cuts, gains, np.iinfo(gains.dtype).min)))
    if k == 0:
        return float(np.nextafter(sorted_[0], -np.inf))
    if k == len(sorted_):
        return float(sorted_[-1])
    return float((sorted_[k - 1] + sorted_[k]) / 2)
