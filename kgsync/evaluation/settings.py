"""The settings of the evaluation, `[evaluation]`."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.common.declare import setting

__all__ = ["EvaluationSettings"]


@dataclass(frozen=True)
class EvaluationSettings:
    """Link prediction on the held-out edges, what was learned, and how far vectors moved."""

    validation_sample: int = setting(
        3000,
        "Validation edges to rank, a fixed sample drawn with the seed; 0 ranks all.",
        at_least=2,
        or_zero=True,
    )
    test_sample: int = setting(
        2000,
        "Test edges to rank for the reported quality, a fixed sample drawn with the seed; 0 ranks "
        "all.",
        at_least=2,
        or_zero=True,
    )
    stability_sample: int = setting(
        1000,
        "Elements from which the mean change of the vectors is estimated: they are compared with "
        "all others or, if few vectors moved, show how far vectors are apart; 0 takes all.",
        at_least=2,
        or_zero=True,
    )
    learned_sample: int = setting(
        200,
        "Triples to rank in each group that a report compares: added and unchanged, deleted and "
        "unseen, near the change and elsewhere. The samples persist from version to version; 0 "
        "switches this off.",
        at_least=2,
        or_zero=True,
    )
    neighbors_sample: int = setting(
        200,
        "Entities whose ten nearest neighbors are compared with those of the version before; the "
        "sample persists; 0 switches this off.",
        at_least=0,
    )
    candidates: int = setting(
        10_000,
        "Entities among which these groups are ranked and neighbors are looked for, a sample that "
        "persists; 0 takes all.",
        at_least=100,
        or_zero=True,
    )
    memory_mb: int = setting(
        256, "Memory limit of one block of scores or distances, in mebibytes.", at_least=1
    )
