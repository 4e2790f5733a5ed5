"""The paper's sliding window over timed facts: every version holds the same share of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kgsync.errors import ConfigError
from kgsync.graph.snapshot import Snapshot
from kgsync.snapshots.facts import Facts, Times
from kgsync.snapshots.version import BuiltVersion

__all__ = ["sliding_window"]


def sliding_window(facts: Facts, versions: int = 20, share: float = 0.5) -> Iterator[BuiltVersion]:
    """Slide a window over facts sorted by time, facts of one time in the order they came.

    Of n facts the window holds w = ⌊share·n⌋. Version k begins at fact round(k·(n−w)/versions) and
    has the distinct triples in the window, so the last facts of all are in no version. With the
    defaults this is the paper's 2_20_0.5_0.

    Args:
        facts: The facts, each with its time.
        versions: How many versions to make.
        share: Share of the facts in the window.

    Raises:
        ConfigError: The facts have no times, or the numbers are impossible.
    """
    if facts.times is None:
        raise ConfigError("a sliding window needs facts with times")
    if versions < 1 or not 0 < share <= 1:
        raise ConfigError("a window needs at least one version, and a share above 0 and at most 1")
    size = int(len(facts) * share)
    if not size:
        raise ConfigError(f"a share of {share} of {len(facts)} facts is less than one fact")
    return _windows(facts, facts.times, size, versions)


def _windows(facts: Facts, times: Times, size: int, versions: int) -> Iterator[BuiltVersion]:
    order = np.argsort(times, kind="stable")
    keys, times = facts.keys[order], times[order]
    for number in range(versions):
        start = round(number * (len(facts) - size) / versions)
        first, last = times[start], times[start + size - 1]
        span = f"{_moment(first)} to {_moment(last)}" if facts.dated else f"time {first} to {last}"
        yield BuiltVersion(
            name=str(number),
            title=f"facts {start + 1:,} to {start + size:,} of {len(facts):,}, {span}",
            edges=Snapshot.of_keys(facts.layout, keys[start : start + size].copy()),
            terms=facts.terms,
            issued=_moment(last) if facts.dated else None,
        )


def _moment(seconds: np.int64) -> str:
    return f"{np.datetime64(int(seconds), 's')}Z"
