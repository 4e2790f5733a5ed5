"""The metrics of a report under the names of the vocabulary: quality, stability and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

__all__ = ["measures", "quality_measures"]

_QUALITY = {
    "mr": "meanRank",
    "mrr": "meanReciprocalRank",
    "mrr_error": "meanReciprocalRankError",
    "hits@1": "hitsAt1",
    "hits@3": "hitsAt3",
    "hits@10": "hitsAt10",
    "hits@100": "hitsAt100",
    "triples": "testTriples",
    "sampled_from": "testTriplesAvailable",
}
_VALIDATION = {"hits@10": "validationHitsAt10", "hits@10_error": "validationHitsAt10Error"}
_PHASES = {
    "fetch": "fetchSeconds",
    "compile": "compileSeconds",
    "train": "trainSeconds",
    "start vectors": "startVectorsSeconds",
    "update": "updateSeconds",
    "evaluate": "evaluateSeconds",
    "adopt": "adoptSeconds",
}
_COST = {"score_evaluations": "scoreEvaluations", "gradient_steps": "gradientSteps"}
_REPORT = {
    "epochs": "epochs",
    "best_epoch": "bestEpoch",
    "peak_memory_mb": "peakMemory",
    "scores_per_second": "scoresPerSecond",
}


def measures(report: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """All metrics of a report in JSON that have a finite value."""
    yield from quality_measures(report["quality"])
    yield from _named(_VALIDATION, report.get("validation") or {})
    for kind, change in (report.get("stability") or {}).items():
        if change is not None:
            sampled = change["sample"] < change["shared"]
            found = {"nmc": change["nmc"], "error": change["error"] if sampled else None}
            names = {"nmc": f"{kind}MeanChange", "error": f"{kind}MeanChangeError"}
            yield from _named(names, found)
    yield from _named(_PHASES, report["seconds"])
    yield "seconds", sum(report["seconds"].values())
    yield from _named(_COST, report["cost"])
    yield from _named(_REPORT, report)


def quality_measures(quality: dict[str, float] | None) -> Iterator[tuple[str, float]]:
    """The metrics of link prediction, if it was measured."""
    yield from _named(_QUALITY, quality or {})


def _named(names: dict[str, str], values: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for key, name in names.items():
        value = values.get(key)
        if value is not None and math.isfinite(value):
            yield name, value
