"""From a trained model to the current version: written, staged in the store, committed, shown."""

from __future__ import annotations

from dataclasses import replace

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases
from kgsync.common.memory import peak_mb
from kgsync.errors import KgsyncError, StateWriteError
from kgsync.publish.target import PublishTarget
from kgsync.source.reading import Reading
from kgsync.state.committed import CommittedVersion, write_version
from kgsync.state.directory import State
from kgsync.state.draft import Trained, prepare
from kgsync.state.entry import show_current
from kgsync.state.report import StepReport
from kgsync.state.settings import VersionSettings

__all__ = ["commit", "make_current"]


def commit(
    reading: Reading,
    trained: Trained,
    current: CommittedVersion | None,
    settings: VersionSettings,
    state: State,
    publish: PublishTarget,
    phases: Phases,
    cost: Cost,
) -> StepReport:
    """Write the files, stage them in the store, move the pointer, flip the store's head."""
    number = state.next_number()
    draft = prepare(number, reading, trained, current, settings)
    report = replace(
        draft.report,
        seconds=dict(phases.seconds),
        cost=cost,
        peak_memory_mb=peak_mb(),
        files=str(state.path / f"{number:06d}" / "embeddings"),
    )
    with phases("write"), state.drafting(number) as path:
        write_version(path, draft.graph, draft.sidecar)
        folder = state.seal(path, replace(draft.manifest, report=report.to_json()))
    with phases("stage"):
        report = replace(report, literals=publish.stage(folder))
        if report.literals is not None:
            state.amend(folder, report.to_json())
    with phases("commit"):
        state.commit(number)
    warnings = _left_out(report)
    with phases("publish"):
        try:
            _show(number, settings, state, publish)
        except (KgsyncError, OSError) as error:
            # The version is committed; the next step finds what is left to do.
            missing = f"version {number} is committed, but not all is published: {error}"
            warnings = (*warnings, missing)
    return replace(report, seconds=phases.seconds, warnings=warnings)


def _left_out(report: StepReport) -> tuple[str, ...]:
    """Say that not every vector is among the literals."""
    count = int((report.literals or {}).get("left_out", 0))
    if not count:
        return ()
    why = "because stores refuse the IRIs; they are in the sidecar files"
    return (f"{count:,} vector(s) are not among the literals, {why}",)


def make_current(
    chosen: CommittedVersion,
    settings: VersionSettings,
    state: State,
    publish: PublishTarget,
    phases: Phases,
) -> None:
    """Commit an older version once more.

    Raises:
        StateError: Its files are damaged, or the disk refused.
        StoreError: The store cannot be written. The message says if that, or the disk, failed
            after the commit.
    """
    for name in chosen.manifest.files:
        chosen.folder.verified(name)
    with phases("stage"):
        publish.stage_again(chosen.folder)
    with phases("commit"):
        state.commit(chosen.manifest.version)
    with phases("publish"):
        try:
            _show(chosen.manifest.version, settings, state, publish)
        except (KgsyncError, OSError) as error:
            kind = type(error) if isinstance(error, KgsyncError) else StateWriteError
            raise kind(
                f"version {chosen.manifest.version} is current in the state, but not all is "
                f"published; the next step will see to it: {error}"
            ) from error


def _show(number: int, settings: VersionSettings, state: State, publish: PublishTarget) -> None:
    """Show the version as current; then, and only then, drop the files of old ones."""
    show_current(state)
    superfluous = state.superfluous(settings.state.keep)
    publish.flip(number, superfluous)
    state.drop_files(superfluous)
