"""The status of a sync: its versions, its scheduled runs, and why it is paused."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kgsync.service.pausing import Pause
from kgsync.service.run_file import RunStatus
from kgsync.state.committed import CommittedVersion, current_version
from kgsync.state.directory import State, VersionFolder
from kgsync.state.report import StepReport

__all__ = ["Status", "status_of"]


@dataclass(frozen=True)
class Status:
    """The status of a sync, read from its state alone."""

    state: str
    store: str
    version: int | None
    graph_version: str | None
    created: str | None
    model: dict[str, Any] | None
    versions: int
    retained: tuple[int, ...]
    """Versions whose files are still there."""
    report: StepReport | None
    damaged: tuple[int, ...] = ()
    """Versions whose manifest cannot be read; they are missing from the history."""
    damaged_files: tuple[str, ...] = ()
    """Files of versions with files that are missing or have another size, and which; their content
    is checked when they are read."""
    run: RunStatus | None = None
    """The scheduled sync, if there was one: `kgsync run`."""
    pause: Pause | None = None
    """Why the sync is paused, if it is."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        report = None if self.report is None else self.report.to_json()
        return {**asdict(self), "report": report}


def status_of(state: State, store: str) -> Status:
    """Read the status from a state; the store is not queried.

    Args:
        state: The state.
        store: How its store is named.
    """
    current = current_version(state)
    readable = state.readable_versions()
    damaged = tuple(state.damaged_versions(readable))
    manifest = current.manifest if current else None
    return Status(
        state=str(state.path),
        store=store,
        version=manifest.version if manifest else None,
        graph_version=manifest.graph_version["name"] if manifest else None,
        created=manifest.created if manifest else None,
        model=manifest.model if manifest else None,
        versions=len(readable) + len(damaged),
        retained=tuple(folder.manifest.version for folder in readable if folder.retained),
        damaged=damaged,
        damaged_files=tuple(_wrong_files(state, readable, current)),
        report=StepReport.from_json(manifest.report) if manifest else None,
        run=RunStatus.load(state.path),
        pause=Pause.of(state, current) if state.exists else None,
    )


def _wrong_files(
    state: State, readable: list[VersionFolder], current: CommittedVersion | None
) -> list[str]:
    """What is wrong with files of versions that should have them."""
    kept, found = state.history.with_files, []
    for folder in readable:
        number, wrong = folder.manifest.version, folder.wrong_files()
        is_current = current is not None and number == current.number
        # If all are gone, a process that removes superfluous ones is at work, or was killed.
        if is_current or (number in kept and len(wrong) < len(folder.manifest.files)):
            found += wrong
    return found
