"""The guard against large removals: a graph that lost many edges is probably damaged."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.errors import LargeRemovalError
from kgsync.service.settings import GuardSettings
from kgsync.source.reading import version_in_words
from kgsync.state.transaction import Transaction

__all__ = ["RemovalGuard", "guard"]


@dataclass(frozen=True)
class RemovalGuard:
    """Rejects a version that removes more of the graph than `max_removed`."""

    settings: GuardSettings

    def check(self, draft: Transaction) -> None:
        """Check that not too many edges are removed.

        Raises:
            LargeRemovalError: Too many are.
        """
        reading, limit = draft.reading, self.settings.source.max_removed
        if reading is None or reading.removed_share <= limit:
            return
        error = LargeRemovalError(
            f"{version_in_words(reading.version)} would remove {reading.removed_share:.0%} of the "
            f"triples, more than max_removed = {limit:.0%}; if intended, run `kgsync accept`, or "
            "step with --allow-large-removal"
        )
        error.removed_share = reading.removed_share
        raise error


guard = RemovalGuard
