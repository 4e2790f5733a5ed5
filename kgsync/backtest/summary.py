"""The summary of a backtest: updating compared with retraining and with a frozen baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from kgsync.backtest.records import Method, Record

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """Ratios over the versions after the first that both methods have finished.

    None where a method or a measure is missing.
    """

    model: str
    versions: int
    mrr: float | None
    """MRR of updating ÷ MRR of retraining, mean over the versions."""
    mrr_over_leaving: float | None
    """MRR of updating ÷ MRR of the frozen baseline, at the last version."""
    nmc_entities: float | None
    """NMC of retraining ÷ NMC of updating, median over the versions where updating moved any."""
    nmc_relations: float | None
    speed: float | None
    """Time of retraining ÷ time of updating, all versions together."""


def summarize(records: Sequence[Record]) -> list[Summary]:
    """One summary per model."""
    models = dict.fromkeys(record.model for record in records)
    return [_summary(model, [r for r in records if r.model == model]) for model in models]


def _summary(model: str, records: Sequence[Record]) -> Summary:
    def column(method: Method, name: str) -> dict[int, float]:
        found = ((r.version, getattr(r, name)) for r in records if r.method == method)
        return {version: value for version, value in found if value is not None}

    def pairs(name: str) -> list[tuple[float, float]]:
        """Values of retraining and of updating, for versions that both have finished."""
        again, updated = column("recalculate", name), column("update", name)
        return [(again[v], updated[v]) for v in sorted(again.keys() & updated.keys())]

    def median_ratio(name: str) -> float | None:
        ratios = [again / now for again, now in pairs(name) if now]
        return median(ratios) if ratios else None

    updated, times = column("update", "mrr"), pairs("seconds")
    quality = [now / again for again, now in pairs("mrr") if again]
    left = column("leave", "mrr")
    last = max(updated.keys() & left.keys(), default=None)
    return Summary(
        model,
        max((record.version for record in records), default=0),
        fmean(quality) if quality else None,
        _ratio(updated[last], left[last]) if last is not None else None,
        median_ratio("nmc_entities"),
        median_ratio("nmc_relations"),
        _ratio(sum(again for again, _ in times), sum(now for _, now in times)),
    )


def _ratio(a: float, b: float) -> float | None:
    return a / b if b else None
