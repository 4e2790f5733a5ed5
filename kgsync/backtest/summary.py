"""What a backtest comes to: updating beside recalculating and beside leaving alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from kgsync.backtest.records import Method, Record

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """Ratios over the versions after the first that both methods have come to.

    None where a method or a measure is missing.
    """

    model: str
    versions: int
    mrr: float | None
    """MRR of updating ÷ MRR of recalculating, mean over the versions."""
    mrr_over_leaving: float | None
    """MRR of updating ÷ MRR of leaving alone, at the last version."""
    nmc_entities: float | None
    """NMC of recalculating ÷ NMC of updating, median over the versions where updating moved any."""
    nmc_relations: float | None
    speed: float | None
    """Time of recalculating ÷ time of updating, all versions together."""


def summarize(records: Sequence[Record]) -> list[Summary]:
    """One summary a model."""
    models = dict.fromkeys(record.model for record in records)
    return [_summary(model, [r for r in records if r.model == model]) for model in models]


def _summary(model: str, records: Sequence[Record]) -> Summary:
    def column(method: Method, name: str) -> dict[int, float]:
        found = ((r.version, getattr(r, name)) for r in records if r.method == method)
        return {version: value for version, value in found if value is not None}

    def pairs(name: str) -> list[tuple[float, float]]:
        """Of recalculating and of updating, where both have been."""
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
