"""Measured cost of each method of reading a store, to choose the cheapest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["ReadingCosts"]

_WEIGHT = 0.5
"""Weight of the newest measurement: the speed of stores and networks varies."""


@dataclass(frozen=True)
class _Rate:
    seconds: float
    """Per triple of the graph."""
    at: float
    """When it was measured."""


class ReadingCosts:
    """Seconds per triple by method of reading; the state keeps them as JSON."""

    def __init__(self, kept: Any = None) -> None:
        """Load what `to_json` returned; anything else counts as nothing measured."""
        self._rates: dict[str, _Rate] = {}
        rates = kept.get("rates") if isinstance(kept, dict) else None
        for way, rate in rates.items() if isinstance(rates, dict) else ():
            try:
                seconds, at = map(float, rate)
            except (TypeError, ValueError):
                continue
            self._rates[way] = _Rate(seconds, at)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"rates": {way: [rate.seconds, rate.at] for way, rate in self._rates.items()}}

    def expected(self, way: str, triples: int) -> float:
        """Expected seconds of a method for a graph of this many triples; 0 if never measured."""
        rate = self._rates.get(way)
        return rate.seconds * triples if rate else 0.0

    def is_older(self, way: str, seconds: float) -> bool:
        """Whether a method was last measured so long ago, never, or (wrong clock) in the future."""
        rate = self._rates.get(way)
        return rate is None or not 0 <= time.time() - rate.at <= seconds

    @contextmanager
    def measured(self, way: str, triples: int) -> Iterator[None]:
        """Measure what happens here, unless it fails."""
        start = time.perf_counter()
        yield
        self.note(way, triples, time.perf_counter() - start)

    def note(self, way: str, triples: int, seconds: float) -> None:
        """Take a measurement into account."""
        rate = seconds / max(1, triples)
        known = self._rates.get(way)
        if known is not None:
            rate = _WEIGHT * rate + (1 - _WEIGHT) * known.seconds
        self._rates[way] = _Rate(rate, time.time())
