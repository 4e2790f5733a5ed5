"""The guard against large removals: a graph that lost much of itself is probably broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kgsync.errors import LargeRemovalError
from kgsync.graph.reading import Reading
from kgsync.source.reading import named
from kgsync.state.transaction import Transaction

__all__ = ["RemovalGuard"]


@dataclass(frozen=True)
class RemovalGuard:
    """Refuses a version that removes more of the graph than `max_removed`."""

    limit: float
    """Share of the embedded edges that may go."""
    accepts: Callable[[Reading], bool]
    """Whether somebody has said that a reading is right as it is."""

    def check(self, draft: Transaction) -> None:
        """See that not too much is gone.

        Raises:
            LargeRemovalError: It is.
        """
        reading = draft.reading
        if reading is None or reading.removed_share <= self.limit or self.accepts(reading):
            return
        error = LargeRemovalError(
            f"{named(reading.version)} would remove {reading.removed_share:.0%} of the edges, "
            f"more than max_removed = {self.limit:.0%}; if that is right, run `kgsync accept`, or "
            "step with --allow-large-removal"
        )
        error.removed_share = reading.removed_share
        raise error
