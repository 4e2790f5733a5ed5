"""The measures of a run: their names in the vocabulary, and their values in a report."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["Measure", "measures", "quality_measures"]

Measure = tuple[str, float]
"""Name in the vocabulary, and value."""

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
    "initial vectors": "startVectorsSeconds",
    "start vectors": "startVectorsSeconds",  # what earlier releases called it
    "update": "updateSeconds",
    "align": "alignSeconds",
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
_GROUP = {
    "mrr": "MeanReciprocalRank",
    "mrr_error": "MeanReciprocalRankError",
    "top_10": "TriplesInTop10",
    "triples": "TriplesRanked",
}
"""After the name of a group of triples."""
_NEIGHBORS = {"overlap": "neighborOverlap", "error": "neighborOverlapError"}


def measures(report: dict[str, Any]) -> list[Measure]:
    """All metrics of a report in JSON that have a finite value."""
    found = quality_measures(report["quality"])
    found += _named(_VALIDATION, report.get("validation") or {})
    for kind, change in (report.get("stability") or {}).items():
        if change is not None:
            sampled = change["sample"] < change["shared"]
            values = {"nmc": change["nmc"], "error": change["error"] if sampled else None}
            names = {"nmc": f"{kind}MeanChange", "error": f"{kind}MeanChangeError"}
            found += _named(names, values)
    for kind, change in ((report.get("alignment") or {}).get("stability_before") or {}).items():
        found += _named({"nmc": f"{kind}MeanChangeBeforeAlignment"}, change or {})
    found += _compared(report)
    found += _named(_PHASES, report["seconds"])
    found.append(("seconds", sum(report["seconds"].values())))
    found += _named(_COST, report["cost"])
    return found + _named(_REPORT, report)


def quality_measures(quality: dict[str, float] | None) -> list[Measure]:
    """The metrics of link prediction, if it was measured."""
    return _named(_QUALITY, quality or {})


def _compared(report: dict[str, Any]) -> list[Measure]:
    """What was learned and forgotten, and what consumers notice of the version."""
    learned = report.get("learned") or {}
    found = _named({"candidates": "rankingCandidates"}, learned)
    for group, quality in learned.get("groups", {}).items():
        found += _named({key: f"{group}{name}" for key, name in _GROUP.items()}, quality)
    for kind, counts in (report.get("rewritten") or {}).items():
        if counts["shared"]:
            found.append((f"{kind}VectorsRewritten", counts["moved"] / counts["shared"]))
    return found + _named(_NEIGHBORS, report.get("neighbors") or {})


def _named(names: dict[str, str], values: dict[str, Any]) -> list[Measure]:
    chosen = ((name, values.get(key)) for key, name in names.items())
    return [(name, value) for name, value in chosen if value is not None and math.isfinite(value)]
