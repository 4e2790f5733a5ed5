"""The logistic loss in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log1p

from kgsync.config import ModelSettings


def of_batch(true: Sequence[float], false: Sequence[float], settings: ModelSettings) -> float:
    signed = [(1, score) for score in true] + [(-1, score) for score in false]
    return sum(log1p(exp(-y * score)) for y, score in signed) / len(signed)


def of_element(triples: Sequence[tuple[float, Sequence[float]]], settings: ModelSettings) -> float:
    true = [score for score, _ in triples]
    return of_batch(true, [score for _, false in triples for score in false], settings)
