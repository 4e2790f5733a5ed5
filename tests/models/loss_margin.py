"""The margin loss in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from kgsync.config import ModelSettings


def of_batch(true: Sequence[float], false: Sequence[float], settings: ModelSettings) -> float:
    return sum(max(0.0, settings.margin - p + n) for p, n in zip(true, false, strict=True))


def of_element(triples: Sequence[tuple[float, Sequence[float]]], settings: ModelSettings) -> float:
    means = [(true, sum(false) / len(false)) for true, false in triples if false]
    return sum(max(0.0, settings.margin - true + mean) for true, mean in means)
