"""What a backtest comes to: updating beside recalculating and beside leaving alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

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
    """Mean NMC of recalculating ÷ mean NMC of updating."""
    nmc_relations: float | None
    speed: float | None
    """Time of recalculating ÷ time of updating."""


def summarize(records: Sequence[Record]) -> list[Summary]:
    """One summary a model."""
    models = dict.fromkeys(record.model for record in records)
    return [_summary(model, [r for r in records if r.model == model]) for model in models]


def _summary(model: str, records: Sequence[Record]) -> Summary:
    def column(method: Method, name: str) -> dict[int, float]:
        found = ((r.version, getattr(r, name)) for r in records if r.method == method)
        return {version: value for version, value in found if value is not None}

    def means(name: str) -> float | None:
        again, updated = column("recalculate", name), column("update", name)
        both = again.keys() & updated.keys()
        return _ratio(_mean([again[v] for v in both]), _mean([updated[v] for v in both]))

    updated, recalculated = column("update", "mrr"), column("recalculate", "mrr")
    pairs = [(updated[v], recalculated[v]) for v in updated if recalculated.get(v)]
    left = column("leave", "mrr")
    last = max(updated.keys() & left.keys(), default=None)
    return Summary(
        model,
        max((record.version for record in records), default=0),
        fmean(a / b for a, b in pairs) if pairs else None,
        _ratio(updated[last], left[last]) if last is not None else None,
        means("nmc_entities"),
        means("nmc_relations"),
        means("seconds"),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None
