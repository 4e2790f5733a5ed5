"""The settings of the evaluation, `[evaluation]`."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.common.declare import setting

__all__ = ["EvaluationSettings"]


@dataclass(frozen=True)
class EvaluationSettings:
    """Link prediction on the held-out edges, and how far vectors moved."""

    validation_sample: int = setting(
        3000,
        "Validation edges to rank, a fixed sample drawn with the seed; 0 ranks all.",
        at_least=0,
    )
    test_sample: int = setting(
        2000,
        "Test edges to rank for the reported quality, a fixed sample drawn with the seed; 0 ranks "
        "all.",
        at_least=0,
    )
    stability_sample: int = setting(
        1000,
        "Elements from which the mean change of the vectors is estimated, each compared with all "
        "others; 0 takes all.",
        at_least=2,
        or_zero=True,
    )
    memory_mb: int = setting(
        256, "Memory limit of one block of scores or distances, in mebibytes.", at_least=1
    )
