"""Incidents of a graph: the sync pauses until they are over and the graph has come to rest.

A graph that was emptied, is gone, lost much of its edges, or whose versions make no sense is left
alone: the last version stays current. What is seen next may be half of a graph that is being
filled again, so it is only taken when it has been at rest for `quiet_period`, or after
`kgsync accept`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from kgsync.common.durations import seconds_of
from kgsync.common.listener import Listener
from kgsync.errors import (
    ConfigError,
    KgsyncError,
    LargeRemovalError,
    TransientStoreError,
    VersionError,
)
from kgsync.source.gathering import Choice
from kgsync.source.reading import Reading, check_removal
from kgsync.source.settings import ReadingSettings
from kgsync.source.settling import wait_for_rest
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State

__all__ = ["Pause", "pausing", "read_checked"]

_FILE = "pause.json"
_SLACK = 1.1
"""A removal that was accepted may have grown by so much meanwhile."""
_NOTABLE_SHARE = 0.001
"""Of the edges of a live graph: if more are gone, they may be about to come back."""


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
        base = current.manifest.version if current else None
        return pause if pause is not None and pause.base == base else None

    @classmethod
    def begin(cls, state: State, current: CommittedVersion | None, error: KgsyncError) -> None:
        """Pause for an incident, or go on with a pause; only called under the lock of the state."""
        share = error.removed_share if isinstance(error, LargeRemovalError) else None
        earlier = cls.of(state, current)
        since = earlier.since if earlier else datetime.now(UTC).isoformat(timespec="seconds")
        base = current.manifest.version if current else None
        state.remember(_FILE, asdict(cls(base, since, str(error), share)))

    @staticmethod
    def end(state: State) -> None:
        """The incident is over."""
        with state.writing("the end of a pause"):
            (state.path / _FILE).unlink(missing_ok=True)

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


def read_checked(
    read: Callable[[], Choice],
    current: CommittedVersion | None,
    settings: ReadingSettings,
    state: State,
    listener: Listener,
    *,
    shared: bool,
    allow_large_removal: bool,
) -> Choice:
    """What is read, if it may be taken: neither too much is gone, nor is half of it coming back.

    Args:
        read: Reads the version to take.
        current: The committed version.
        settings: `max_removed` and `quiet_period`.
        state: Knows of a pause; that it is over is for the caller to note, with what comes of it.
        listener: Hears what is waited for.
        shared: Whether others may be filling the graph.
        allow_large_removal: Take it as it is.

    Raises:
        LargeRemovalError: It would remove too much.
        TransientStoreError: It is still being filled.
    """
    choice, pause = read(), Pause.of(state, current)
    reading, settle = choice.reading, settings.source.quiet_period
    if allow_large_removal or (pause is not None and pause.allows(reading)):
        return choice
    check_removal(reading, settings)
    notable = reading.version.live and reading.removed_share > _NOTABLE_SHARE
    doubtful = pause is not None or (shared and notable)
    if doubtful and reading.change and current is not None and seconds_of(settle):
        again = _read_at_rest(reading, lambda: read().reading, settle, listener)
        check_removal(again, settings)
        choice = replace(choice, reading=again)
    return choice


def _read_at_rest(
    first: Reading, read: Callable[[], Reading], settle: str, listener: Listener
) -> Reading:
    """Read a graph a second time after `quiet_period`, and take that if nothing is coming back.

    While a graph is filled again, edges of the last version come back and none go; under steady
    change about as many come back as go.

    Args:
        first: What was read just now.
        read: Reads it again.
        settle: How long to wait.
        listener: Hears that it is waited, and may end that by raising something.

    Raises:
        TransientStoreError: It is still being filled.
    """
    wait_for_rest(seconds_of(settle), listener)
    second = read()
    deleted = first.change.deleted_triples, second.change.deleted_triples
    back = len(deleted[0].minus(deleted[1]))
    gone = len(deleted[1].minus(deleted[0]))
    moved = not first.version.live and first.edges != second.edges
    if moved or back > gone:
        raise TransientStoreError(
            f"the graph is still being filled: in {settle} {back:,} missing edges came back and "
            f"{gone:,} went; it is taken when it has been at rest for so long"
        )
    return second
