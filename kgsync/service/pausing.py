"""Incidents of a graph: the sync pauses until they are over and the graph is at rest.

If a graph is empty or gone, its versions cannot be ordered, or a guard rejects the next one, the
last version stays current. The graph may next be seen while it is being loaded again, so it is only
taken when it has been at rest for `quiet_period`, or after `kgsync accept`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kgsync.errors import ConfigError, KgsyncError, LargeRemovalError, RejectedError, VersionError
from kgsync.graph.reading import Reading
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State

__all__ = ["Pause", "Rejection", "pausing"]

_FILE = "pause.json"
_SLACK = 1.1
"""An accepted removal may have grown by this factor in the meantime."""


@dataclass(frozen=True)
class Rejection:
    """What a guard rejected, so that it can be accepted and is not trained again."""

    guard: str
    content: str
    """Fingerprint of the change that it rejected; see `Reading.fingerprint`."""
    removed_share: float | None = None
    """Share of the edges that would be removed, if a guard rejects or has rejected that."""
    trained_with: str | None = None
    """Fingerprint of the settings, if it rejected the version after training."""
    passed: tuple[str, ...] = ()
    """Other guards that rejected the same change; a user has accepted that."""

    def is_like(self, reading: Reading) -> bool:
        """Whether a reading has the same content, or removes no more than the rejected one."""
        share = self.removed_share
        if share is not None and reading.removed_share <= share * _SLACK:
            return True
        return reading.fingerprint == self.content


@dataclass(frozen=True)
class Pause:
    """Why the current version stays; the file `pause.json` of a state."""

    base: int | None
    """Embedding version that stays current."""
    since: str
    reason: str
    rejection: Rejection | None = None
    """What was rejected, if a guard is the reason; it can be accepted."""
    accepted: bool = False
    """Whether a user has accepted the rejected change."""
    accepted_at: str | None = None
    """When a user has accepted it."""

    @classmethod
    def load(cls, state: State) -> Pause | None:
        """The pause of a state, if there is one."""
        try:
            pause = cls(**state.recall(_FILE))
            datetime.fromisoformat(pause.since)
            if pause.rejection is not None:
                found: dict[str, Any] = dict(vars(pause)["rejection"])
                rejection = Rejection(**{**found, "passed": tuple(found["passed"])})
                pause = replace(pause, rejection=rejection)
        except (TypeError, ValueError, KeyError):
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
    def begin(
        cls,
        state: State,
        current: CommittedVersion | None,
        error: KgsyncError,
        rejection: Rejection | None = None,
    ) -> None:
        """Begin or continue a pause; only called under the lock of the state."""
        earlier = cls.of(state, current)
        since = earlier.since if earlier else datetime.now(UTC).isoformat(timespec="seconds")
        base = current.number if current else None
        state.remember(_FILE, asdict(cls(base, since, str(error), rejection)))

    @staticmethod
    def end(state: State) -> None:
        """The incident is over."""
        state.forget(_FILE)

    def accept(self, state: State) -> None:
        """Let the next step apply what was rejected; only called under the lock of the state.

        Raises:
            ConfigError: The pause has another reason.
        """
        if self.rejection is None:
            raise ConfigError(
                f"there is no change to accept: {self.reason}. Repair or restore the graph; the "
                "sync then resumes by itself"
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        state.remember(_FILE, asdict(replace(self, accepted=True, accepted_at=now)))

    def covers(self, reading: Reading) -> bool:
        """Whether a reading is what a user has accepted."""
        return self.accepted and self.rejection is not None and self.rejection.is_like(reading)

    def allows(self, guard: str, error: RejectedError, reading: Reading) -> bool:
        """Whether a user has accepted what a guard rejects.

        A removal may have grown a little; what else is rejected must be the same content.
        """
        rejection = self.rejection
        if rejection is None:
            return False
        if guard not in rejection.passed and not (self.accepted and guard == rejection.guard):
            return False
        if isinstance(error, LargeRemovalError):
            return rejection.is_like(reading)
        return rejection.content == reading.fingerprint

    def __str__(self) -> str:
        if self.accepted:
            when = f" on {self.accepted_at}" if self.accepted_at else ""
            return f"accepted{when}; the next step applies it"
        return f"paused since {self.since}: {self.reason}"


@contextmanager
def pausing(state: State, current: CommittedVersion | None) -> Iterator[None]:
    """Record an incident of the graph as a pause; guards do so themselves, see `rejections`."""
    try:
        yield
    except VersionError as error:
        Pause.begin(state, current, error)
        raise
