"""Whether a method is good enough, in one sentence that is computed from its summary."""

from __future__ import annotations

from collections.abc import Iterator

from kgsync.backtest.methods import FROZEN, SCRATCH
from kgsync.backtest.summary import Summary

__all__ = ["LIMITS", "MEAN", "verdict"]

MEAN, _WORST, _ADDED, _DELETED = 0.95, 0.90, 0.90, 1.5
"""What a good method reaches: at least these shares of the MRR of retraining on average, at every
version, and on added triples; on deleted ones at most so many times that MRR."""
_ERRORS = 2
"""A limit is missed if it is out of reach by so many standard errors."""
LIMITS = (
    f"Good enough: at least {MEAN:.0%} of retraining's MRR on average and {_WORST:.0%} at every "
    f"version, {_ADDED:.0%} on added triples, and at most {_DELETED:g} times its MRR on deleted "
    f"ones; standard errors are allowed for ({_ERRORS} of them)."
)


def verdict(summary: Summary) -> str:
    """What a summary comes to."""
    if summary.method == SCRATCH:
        return "what the others are compared with"
    if summary.mrr is None:
        return f"no verdict: there is no MRR of {SCRATCH} at the same versions to compare with"
    fine, due = _words(summary)
    missed = next(_missed(summary), None)
    if missed is not None:
        return f"{due}: {missed}"
    quality = f"MRR is {summary.mrr:.1%} of retraining's (worst {summary.worst:.1%})"
    if summary.mrr < MEAN:
        error = 0.0 if summary.mrr_error is None else summary.mrr_error
        return (
            f"undecided: {quality}, but with a standard error of {error:.1%}; "
            "raise evaluation.test_sample, or take a longer history"
        )
    work = "" if summary.work is None else f" for {_share(summary.work)} of the work"
    return f"{fine}: {quality}{work}"


def _words(summary: Summary) -> tuple[str, str]:
    """What is said of a method that is good enough, and of one that is not."""
    if summary.method == FROZEN:
        return "no update is needed", "updates are due"
    if summary.strategy == "retrain":
        return "aligned retraining is good enough", "retraining without alignment is due"
    return "updating is good enough", "retraining is due"


def _missed(summary: Summary) -> Iterator[str]:
    """The limits that are missed, beyond doubt; the most important one first."""
    if summary.mrr is not None and _surely(summary.mrr, summary.mrr_error) < MEAN:
        yield f"MRR is {summary.mrr:.1%} of retraining's on average{_since(summary)}"
    low = [ratio for ratio in summary.ratios if _surely(ratio.value, ratio.error) < _WORST]
    if low:
        worst = min(low, key=lambda ratio: ratio.value)
        yield f"at version {worst.version} MRR is {worst.value:.1%} of retraining's"
    if summary.added is not None and _surely(summary.added, summary.added_error) < _ADDED:
        yield f"on added triples MRR is {summary.added:.1%} of retraining's"
    if summary.deleted is not None:
        error = summary.deleted_error or 0.0
        if summary.deleted - _ERRORS * error > _DELETED:
            yield f"on deleted triples MRR is still {summary.deleted:.1f} times retraining's"


def _since(summary: Summary) -> str:
    """From which version on the ratio stays below the mean that is wanted."""
    since = None
    for ratio in summary.ratios:
        since = (since or ratio.version) if ratio.value < MEAN else None
    if since is None or since == summary.ratios[0].version:
        return ""
    return f", and below {MEAN:.0%} from version {since} on"


def _surely(value: float, error: float | None) -> float:
    """What it is at the most."""
    return value + _ERRORS * (error or 0.0)


def _share(value: float) -> str:
    return f"{value:.0%}" if value >= 0.1 or not value else f"{value:.1%}"
