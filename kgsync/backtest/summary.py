"""The summary of a backtest: every method compared with retraining from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from kgsync.backtest.methods import FROZEN, SCRATCH, rank_of
from kgsync.backtest.record import Record

__all__ = ["Ratio", "Summary", "summarize"]


@dataclass(frozen=True)
class Ratio:
    """The MRR of a method ÷ that of retraining, at one version."""

    version: int
    value: float
    error: float
    """Standard error, from those of both. They rank the same triples, so it is rather too large."""


@dataclass(frozen=True)
class Summary:
    """One method of one model, over the versions after the first.

    All but `rewritten` and `nmc_entities` are ratios to retraining from scratch, over the versions
    that both have finished. None where a method or a measure is missing.
    """

    model: str
    method: str
    versions: int
    """Versions after the first that the method has finished."""
    strategy: str | None = None
    ratios: tuple[Ratio, ...] = ()
    """Of the MRR, version by version."""
    mrr: float | None = None
    """Their mean."""
    worst: float | None = None
    mrr_error: float | None = None
    """Standard error of the mean: that of a single version, as all rank much the same triples."""
    mrr_over_frozen: float | None = None
    """MRR ÷ that of the frozen baseline, at the last version."""
    added: float | None = None
    """MRR of added triples, all versions together."""
    added_error: float | None = None
    deleted: float | None = None
    """The same of deleted triples: more than 1 where retraining forgets more of them."""
    deleted_error: float | None = None
    neighbors: float | None = None
    """Share of the nearest neighbors that are the same as before, mean."""
    rewritten: float | None = None
    """Share of the entities' vectors that differ from those before, mean."""
    nmc_entities: float | None = None
    """NMC, median."""
    work: float | None = None
    """Score evaluations, all versions together."""
    cpu: float | None = None
    """CPU time, all versions together."""
    chosen: dict[str, int] = field(default_factory=dict)
    """How often the strategy chose which other one."""


def summarize(records: Sequence[Record]) -> list[Summary]:
    """One summary per model and method."""
    later = [record for record in records if record.version]
    keys = {(record.model, record.method) for record in later}
    in_order = sorted(keys, key=lambda key: (key[0], rank_of(key[1]), key[1]))
    return [_summary(model, method, later) for model, method in in_order]


def _summary(model: str, method: str, records: Sequence[Record]) -> Summary:
    by_method: dict[str, dict[int, Record]] = {method: {}, SCRATCH: {}, FROZEN: {}}
    for record in records:
        if record.model == model and record.method in by_method:
            by_method[record.method][record.version] = record
    own, again = by_method[method], by_method[SCRATCH]
    both = [(own[version], again[version]) for version in sorted(own.keys() & again.keys())]
    ratios = tuple(ratio for ratio in (_ratio_of(*pair) for pair in both) if ratio is not None)
    last = max(own.keys() & by_method[FROZEN].keys(), default=None)
    added, added_error = _group_ratio(both, "added")
    deleted, deleted_error = _group_ratio(both, "deleted")
    return Summary(
        model,
        method,
        len(own),
        strategy=next((record.strategy for record in own.values()), None),
        ratios=ratios,
        mrr=_mean([ratio.value for ratio in ratios]),
        worst=min((ratio.value for ratio in ratios), default=None),
        mrr_error=_mean([ratio.error for ratio in ratios]),
        mrr_over_frozen=_over(own[last].mrr, by_method[FROZEN][last].mrr) if last else None,
        added=added,
        added_error=added_error,
        deleted=deleted,
        deleted_error=deleted_error,
        neighbors=_mean([r.neighbors["overlap"] for r in own.values() if r.neighbors]),
        rewritten=_mean([r.rewritten_entities for r in own.values()]),
        nmc_entities=_median([r.nmc_entities for r in own.values()]),
        work=_total_ratio(both, lambda record: record.score_evaluations),
        cpu=_total_ratio(both, lambda record: record.cpu_seconds),
        chosen=dict(Counter(r.choice["strategy"] for r in own.values() if r.choice)),
    )


def _ratio_of(own: Record, again: Record) -> Ratio | None:
    if own.mrr is None or not again.mrr:
        return None
    value = own.mrr / again.mrr
    parts = [(r.mrr_error or 0.0) / r.mrr for r in (own, again) if r.mrr]
    return Ratio(own.version, value, value * sum(part**2 for part in parts) ** 0.5)


def _group_ratio(
    both: Sequence[tuple[Record, Record]], name: str
) -> tuple[float | None, float | None]:
    """MRR of all triples of a group together ÷ the same of retraining, and its standard error."""
    sums, variances = [0.0, 0.0], [0.0, 0.0]
    for pair in both:
        groups = [record.groups.get(name) for record in pair]
        for side, group in enumerate(groups):
            if group is not None and all(groups):
                sums[side] += group["mrr"] * group["triples"]
                variances[side] += (group["mrr_error"] * group["triples"]) ** 2
    value = _over(*sums) if any(sums) else None
    if value is None or not sums[0]:
        return value, None
    parts = [variance**0.5 / total for variance, total in zip(variances, sums, strict=True)]
    return value, value * sum(part**2 for part in parts) ** 0.5


def _total_ratio(
    both: Sequence[tuple[Record, Record]], of: Callable[[Record], float | None]
) -> float | None:
    found = [(of(own), of(again)) for own, again in both]
    known = [(a, b) for a, b in found if a is not None and b is not None]
    return _over(sum(a for a, _ in known), sum(b for _, b in known)) if known else None


def _over(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
