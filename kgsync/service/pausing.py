"""Incidents of a graph: the sync pauses until they are over and the graph is at rest.

If a graph is empty or gone, has lost many of its edges, or its versions cannot be ordered, the last
version stays current. The graph may next be seen while it is being loaded again, so it is only
taken when it has been at rest for `quiet_period`, or after `kgsync accept`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from kgsync.errors import ConfigError, KgsyncError, LargeRemovalError, VersionError
from kgsync.graph.reading import Reading
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State

__all__ = ["Pause", "pausing"]

_FILE = "pause.json"
_SLACK = 1.1
"""An accepted removal may have grown by this factor in the meantime."""


@dataclass(frozen=True)
class Pause:
    """Why the current version stays; the file `pause.json` of a state."""

    base: int | None
    """Embedding version that stays current."""
    since: str
    reason: str
    removed_share: float | None = None
    """Share of the edges that would be removed, if this is the reason; it can be accepted."""
    accepted: bool = False
    """Whether a user has accepted the removal."""

    @classmethod
    def load(cls, state: State) -> Pause | None:
        """The pause of a state, if there is one."""
        try:
            pause = cls(**state.recall(_FILE))
            datetime.fromisoformat(pause.since)
        except (TypeError, ValueError):
            return None
        return pause

    @staticmethod
    def written(state: State) -> int | None:
        """When the file was written, as the file system tells it."""
        try:
            return (state.path / _FILE).stat().st_mtime_ns
        except OSError:
            return None

    @classmethod
    def of(cls, state: State, current: CommittedVersion | None) -> Pause | None:
        """The pause, if it is about the current version."""
        pause = cls.load(state)
        base = current.number if current else None
        return pause if pause is not None and pause.base == base else None

    @classmethod
    def begin(cls, state: State, current: CommittedVersion | None, error: KgsyncError) -> None:
        """Begin or continue a pause; only called under the lock of the state."""
        share = error.removed_share if isinstance(error, LargeRemovalError) else None
        earlier = cls.of(state, current)
        since = earlier.since if earlier else datetime.now(UTC).isoformat(timespec="seconds")
        base = current.number if current else None
        state.remember(_FILE, asdict(cls(base, since, str(error), share)))

    @staticmethod
    def end(state: State) -> None:
        """The incident is over."""
        state.forget(_FILE)

    def accept(self, state: State) -> None:
        """Let the next step apply the removal; only called under the lock of the state.

        Raises:
            ConfigError: The pause has another reason.
        """
        if self.removed_share is None:
            raise ConfigError(
                f"this pause cannot be accepted, because it is not a large removal: {self.reason}; "
                "fix the cause, or run `kgsync rebuild`"
            )
        state.remember(_FILE, asdict(replace(self, accepted=True)))

    def allows(self, reading: Reading) -> bool:
        """Whether a reading is what was accepted."""
        share = self.removed_share or 0.0
        return self.accepted and reading.removed_share <= share * _SLACK

    def __str__(self) -> str:
        state = "accepted, applied by the next step" if self.accepted else "paused"
        return f"{state} since {self.since}: {self.reason}"


@contextmanager
def pausing(state: State, current: CommittedVersion | None) -> Iterator[None]:
    """Record an incident of the graph as a pause."""
    try:
        yield
    except (VersionError, LargeRemovalError) as error:
        Pause.begin(state, current, error)
        raise
