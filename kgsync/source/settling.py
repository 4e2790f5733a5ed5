"""Waiting until a version stops changing: others may still be loading it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kgsync.common.durations import seconds_of
from kgsync.common.listener import Listener
from kgsync.errors import TransientStoreError
from kgsync.graph.port import DatedReader, GraphStore, TripleSource
from kgsync.graph.versions import GraphVersion, VersionList
from kgsync.source.notes import Notes
from kgsync.source.settings import ReadingSettings

__all__ = ["await_rest", "wait_for_rest"]

_LOOKS = "looks.json"
_GROWTH = 0.001
"""Share by which a live graph may change while kgsync waits: it may never be at rest."""
_TICK_SECONDS = 0.5
"""How often a wait checks whether to stop."""


@dataclass(frozen=True)
class _Look:
    """How many triples a graph had, and when."""

    triples: int
    at: float


def await_rest(
    store: GraphStore,
    versions: VersionList,
    ahead: tuple[GraphVersion, ...],
    settings: ReadingSettings,
    notes: Notes,
    listener: Listener,
    *,
    initial: bool = False,
) -> tuple[GraphVersion, ...]:
    """Wait until the version to take has had the same number of triples for `quiet_period`.

    A live graph is taken as it is, except for its `initial` version: that should not be a part of
    one that is being loaded.

    The first looks at all versions to do are remembered in the state, so that this waits once, and
    not at all in a process that looks again later.

    Returns:
        The versions to do that are at rest: those that follow one that is not have to wait.

    Raises:
        TransientStoreError: The version to take is still growing.
    """
    settle = seconds_of(settings.source.quiet_period)
    if isinstance(store, DatedReader):
        newest = ahead[-1] if settings.schedule.latest_only else ahead[0]
        _await_files(store, newest, settings, listener)
        return ahead
    if versions.declared or not store.capabilities.shared or not settle:
        return ahead
    if versions.order == "live":
        if initial:
            _await_load(store, ahead[0], settings, listener)
        return ahead
    known, looks = _recalled(notes), {}
    for version in ahead:
        name = version.name
        looks[name] = known.get(name) or _Look(_count(store, version, settings), time.time())
    schedule = settings.schedule
    first = ahead[-1] if schedule.latest_only else ahead[0]
    before = looks[first.name]
    # A clock that was set back must not make it wait for long.
    wait_for_rest(min(settle, before.at + settle - time.time()), listener)
    # Where changes gather, a step may go on to the versions after the first.
    candidates = ahead if schedule.min_change and not schedule.latest_only else (first,)
    resting = 0
    for version in candidates:
        look, now = looks[version.name], _Look(_count(store, version, settings), time.time())
        if now.triples != look.triples:
            looks[version.name] = now
            break
        if version is not first and now.at < look.at + settle:
            break
        resting += 1
    notes.remember(_LOOKS, {name: vars(look) for name, look in looks.items()})
    if not resting:
        raise TransientStoreError(
            f"<{first.name}> is still being loaded: {before.triples:,} triples, then "
            f"{looks[first.name].triples:,}; it is taken when it has not changed for "
            f"{settings.source.quiet_period}"
        )
    return ahead[:resting] if candidates is ahead else ahead


def wait_for_rest(seconds: float, listener: Listener) -> None:
    """Wait; the listener may end the wait by raising an exception."""
    if seconds <= 0:
        return
    listener.phase("waiting for rest")
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _TICK_SECONDS))
        listener.progress("waiting for rest", round(seconds - left), round(seconds))
    listener.phase("fetch")


def _await_load(
    store: GraphStore, version: GraphVersion, settings: ReadingSettings, listener: Listener
) -> None:
    """Wait once for `quiet_period`, in which a live graph must not change by more than a little."""
    before = _count(store, version, settings)
    wait_for_rest(seconds_of(settings.source.quiet_period), listener)
    after = _count(store, version, settings)
    if abs(after - before) > before * _GROWTH:
        raise TransientStoreError(
            f"the graph is still being loaded: {before:,} triples, then {after:,}; its first "
            f"version is taken when that changes by less than {_GROWTH:.1%} in "
            f"{settings.source.quiet_period}"
        )


def _await_files(
    store: DatedReader, version: GraphVersion, settings: ReadingSettings, listener: Listener
) -> None:
    """Wait until no file was written for `quiet_period`: a copy may be under way."""
    settle = seconds_of(settings.source.quiet_period)
    source = TripleSource(version.graph, settings.scope_text())
    age = time.time() - store.touched(source)
    if 0 <= age < settle:
        wait_for_rest(settle - age, listener)
        if time.time() - store.touched(source) < settle:
            raise TransientStoreError(
                f"files of <{version.name}> in {store.label} are still being written; it is taken "
                f"when they have not changed for {settings.source.quiet_period}"
            )


def _count(store: GraphStore, version: GraphVersion, settings: ReadingSettings) -> int:
    return store.count(TripleSource(version.graph, settings.scope_text()))


def _recalled(notes: Notes) -> dict[str, _Look]:
    try:
        return {name: _Look(**look) for name, look in notes.recall(_LOOKS).items()}
    except (TypeError, AttributeError):
        return {}  # they are only looked at once more
