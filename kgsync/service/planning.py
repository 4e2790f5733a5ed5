"""What the next step would do, found out without writing anything."""

from __future__ import annotations

from dataclasses import replace

from kgsync.graph.port import GraphStore
from kgsync.source.source import Source
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State
from kgsync.state.report import Plan

__all__ = ["plan_next"]


def plan_next(
    source: Source, store: GraphStore, state: State, base: CommittedVersion | None
) -> Plan:
    """Read the next version and compare it; nothing is taken.

    Args:
        source: Finds and reads it.
        store: The open store.
        state: Knows what was taken before.
        base: The committed version.
    """
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
    return replace(
        nothing,
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
