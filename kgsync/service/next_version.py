"""The next version of a graph: planned, or taken once it is at rest and the guards allow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kgsync.common.durations import seconds_of
from kgsync.common.listener import Listener
from kgsync.errors import StateRequestError, TransientStoreError
from kgsync.graph.port import GraphStore
from kgsync.graph.reading import Reading
from kgsync.service.guards import guards
from kgsync.service.pausing import Pause, pausing
from kgsync.service.rejections import Guarded
from kgsync.service.settings import GuardSettings
from kgsync.source.gathering import Choice, Waiting
from kgsync.source.reading import note_reading
from kgsync.source.settling import wait_for_rest
from kgsync.source.source import Source
from kgsync.state.committed import current_version
from kgsync.state.directory import State
from kgsync.state.report import Plan, StepReport
from kgsync.state.transaction import Transaction

__all__ = ["Taken", "accept_rejected", "forget_notes", "plan_next", "take_next"]

_NOTABLE_SHARE = 0.001
"""Share of a live graph's edges; if more are gone, they may come back soon."""


@dataclass(frozen=True)
class Taken:
    """What a step takes, or why it takes nothing."""

    reading: Reading | None
    """The version to learn from; None if there is nothing new, or not enough."""
    report: StepReport
    """What the step is, if it ends here."""
    warnings: tuple[str, ...] = ()
    """What to tell once the version is committed."""


def plan_next(
    draft: Transaction, source: Source, store: GraphStore, settings: GuardSettings
) -> Plan:
    """Read the next version, compare it and ask the guards; nothing is taken or written.

    Args:
        draft: Shown to the guards, and then given up; the state need not be locked.
        source: Finds and reads the version.
        store: The open store.
        settings: All settings, for the guards.
    """
    state, base = draft.state, draft.base
    outlook = source.look(store, base, state.history.graph_versions)
    versions, files = outlook.versions, outlook.files
    nothing = Plan(None, versions.order, 0, versions.pending, outlook.late)
    nothing = replace(nothing, warnings=files.warnings(taken=False))
    if not outlook.ahead:
        return nothing
    choice = source.read(store, outlook.ahead, base)
    reading = choice.reading
    if not outlook.is_new(reading):
        return nothing
    draft.reading = reading
    guarded = Guarded(guards(settings), settings, Pause.of(state, base))
    return replace(
        nothing,
        rejected=str(guarded.rejection(draft) or ""),
        graph_version=reading.version.name,
        behind=len(outlook.ahead),
        change=reading.change.counts(),
        empty=outlook.empty_before(reading),
        gathered=reading.gathered,
        waiting_until=choice.until,
        removed_share=reading.removed_share,
        skipped=reading.skipped,
        way=reading.fetched.way,
        reason=files.reason or reading.fetched.reason,
        caveat=reading.fetched.caveat,
        warnings=files.warnings(taken=True),
    )


def take_next(
    draft: Transaction,
    source: Source,
    store: GraphStore,
    settings: GuardSettings,
    *,
    allow_large_removal: bool = False,
    now: bool = False,
) -> Taken:
    """Take the next version, if there is one and its change is large enough.

    Args:
        draft: Takes what is read, if it meets the requirements.
        source: Finds and reads it.
        store: The open store.
        settings: All settings, for the guards.
        allow_large_removal: Continue even if more than `max_removed` of the edges are removed.
        now: Take the change even if it is smaller than `min_change`.

    Raises:
        VersionError: The versions cannot be ordered, or the graph is gone or empty: it is paused.
        RejectedError: A guard rejects it, for example because too much is gone: it is paused.
        StoreError: It could not be read completely.
    """
    state, base = draft.state, draft.base
    paused = Pause.of(state, base)
    found = guards(settings)
    draft.require(Guarded(found, settings, paused, allow_large_removal=allow_large_removal))

    def accepts(reading: Reading) -> bool:
        return allow_large_removal or (paused is not None and paused.covers(reading))

    with pausing(state, base):
        outlook = source.look(store, base, state.history.graph_versions)
        nothing = draft.nothing_new(outlook.warnings(None))
        if not outlook.ahead:
            Pause.end(state)
            return Taken(None, nothing)
        ahead = source.at_rest(store, outlook)
        choice = _read_carefully(
            lambda: source.read(store, ahead, base, now=now),
            draft,
            source,
            doubtful=paused is not None,
            shared=store.capabilities.shared,
            accepts=accepts,
        )
    reading = choice.reading
    note_reading(reading, state)
    if choice.waiting is not None:
        Pause.end(state)
        choice.waiting.save(state)
        return Taken(None, replace(nothing, **choice.report()))
    if not outlook.is_new(reading):
        Pause.end(state)
        Waiting.forget(state)  # what had waited was taken back
        return Taken(None, nothing)
    return Taken(reading, nothing, outlook.warnings(reading))


def accept_rejected(state: State) -> None:
    """Accept what a guard rejected, so that it paused a sync: the next step applies it.

    Raises:
        StateRequestError: The sync is not paused.
        ConfigError: The pause has another reason, so there is nothing to accept.
    """
    with state.lock():
        pause = Pause.of(state, current_version(state))
        if pause is None:
            raise StateRequestError(
                f"nothing is paused in {state.path}, so nothing can be accepted"
            )
        pause.accept(state)


def forget_notes(state: State) -> None:
    """Another version is current: forget what paused the last one, and what waited to change it.

    A rollback to that version would find them again.
    """
    Pause.end(state)
    Waiting.forget(state)


def _read_carefully(
    read: Callable[[], Choice],
    draft: Transaction,
    source: Source,
    *,
    doubtful: bool,
    shared: bool,
    accepts: Callable[[Reading], bool],
) -> Choice:
    """What is read, if it may be taken: neither too much is gone, nor is half of it coming back.

    Args:
        read: Reads the version to take.
        draft: Takes what is read, if it meets the requirements.
        source: Its settings, and who hears what is waited for.
        doubtful: Whether the sync is paused: the graph may be on its way back.
        shared: Whether others may be filling the graph.
        accepts: Whether a reading is to be taken as it is.

    Raises:
        KgsyncError: A requirement is not met.
        TransientStoreError: It is still being filled.
    """
    choice = read()
    reading, settle = choice.reading, source.settings.source.quiet_period
    draft.take(reading)
    if accepts(reading):
        return choice
    notable = reading.version.live and reading.removed_share > _NOTABLE_SHARE
    doubtful = doubtful or (shared and notable)
    if doubtful and reading.change and draft.base is not None and seconds_of(settle):
        again = _read_at_rest(reading, lambda: read().reading, settle, source.listener)
        draft.take(again)
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
            f"{gone:,} were removed; it is taken when it has been at rest for that time"
        )
    return second
