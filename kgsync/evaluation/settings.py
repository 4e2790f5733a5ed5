"""The settings of the evaluation, `[evaluation]`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EvaluationSettings"]


@dataclass(frozen=True)
class EvaluationSettings:
    """Link prediction on the held-out edges."""

    validation_sample: int = 3000
    """Rank a fixed, seeded sample of so many validation edges; 0 ranks all."""
    test_sample: int = 2000
    """The same for the quality in the report."""
    stability_sample: int = 1000
    """Estimate how far vectors moved from so many elements, each against all; 0 takes all."""
    memory_mb: int = 256
    """Bound on one block of scores or distances."""
