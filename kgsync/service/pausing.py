"""Incidents of a graph: the sync pauses until they are over and the graph has come to rest.

A graph that was emptied, is gone, lost much of its edges, or whose versions make no sense is left
alone: the last version stays current. What is seen next may be half of a graph that is being
filled again, so it is only taken when it has been at rest for `quiet_period`, or after
`kgsync accept`.
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
"""A removal that was accepted may have grown by so much meanwhile."""


@dataclass(frozen=True)
class Pause:
    """Why the current version stays; the file `pause.json` of a state."""

    base: int | None
    """Embedding version that stays current."""
    since: str
    reason: str
    removed_share: float | None = None
    """Share of the edges that would go, if that is the reason: it can be accepted."""
    accepted: bool = False
    """Whether somebody has said that it is right so."""

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
        """The pause that is about what is current now."""
        pause = cls.load(state)
        base = current.number if current else None
        return pause if pause is not None and pause.base == base else None

    @classmethod
    def begin(cls, state: State, current: CommittedVersion | None, error: KgsyncError) -> None:
        """Pause for an incident, or go on with a pause; only called under the lock of the state."""
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
        """Take what there is with the next step; only called under the lock of the state.

        Raises:
            ConfigError: It is nothing that could be taken.
        """
        if self.removed_share is None:
            raise ConfigError(
                f"this pause cannot be accepted, as there is nothing to take: {self.reason}; "
                "correct that, or run `kgsync rebuild`"
            )
        state.remember(_FILE, asdict(replace(self, accepted=True)))

    def allows(self, reading: Reading) -> bool:
        """Whether a reading is what was accepted."""
        share = self.removed_share or 0.0
        return self.accepted and reading.removed_share <= share * _SLACK

    def __str__(self) -> str:
        state = "accepted, taken with the next step" if self.accepted else "paused"
        return f"{state} since {self.since}: {self.reason}"


@contextmanager
def pausing(state: State, current: CommittedVersion | None) -> Iterator[None]:
    """Note an incident of the graph, so that the next steps are careful."""
    try:
        yield
    except (VersionError, LargeRemovalError) as error:
        Pause.begin(state, current, error)
        raise
