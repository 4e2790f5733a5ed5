"""One transaction: a new version is written aside, checked, then made current atomically.

If a transaction ends before `commit`, the last version stays current, and the next transaction
replaces what is left of the draft. The next step repairs what was interrupted after `commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from kgsync.common.cost import Cost
from kgsync.common.events import ROLLED_BACK, AbandonedError, Committed, Failed, Rejected
from kgsync.common.listener import Phases
from kgsync.common.memory import forget_peak, peak_mb
from kgsync.common.wording import counted
from kgsync.errors import (
    KgsyncError,
    RejectedError,
    StateCorruptedError,
    StateError,
    StateWriteError,
)
from kgsync.graph.reading import Reading
from kgsync.state.committed import (
    CommittedVersion,
    current_version,
    show_current,
    write_version,
)
from kgsync.state.directory import State, VersionFolder, folder_name
from kgsync.state.moves import Moves
from kgsync.state.prepared import Learned, PreparedVersion, prepare
from kgsync.state.report import StepReport
from kgsync.state.settings import VersionSettings
from kgsync.state.sidecar import FOLDER, load_vectors

__all__ = ["Requirement", "Transaction", "transaction"]


class Requirement(Protocol):
    """A condition that a version has to meet before it becomes the current one."""

    def check(self, draft: Transaction) -> None:
        """Check the condition, as far as it can be checked yet.

        Called whenever `draft.reading` is known, before training, and once more when there is a
        report (`draft.has_report`), before anything is written.

        Raises:
            RejectedError: It is not met; the base stays current. Any other error is a failure.
        """


@contextmanager
def transaction(
    state: State,
    settings: VersionSettings,
    phases: Phases,
    after_commit: Callable[[State], None] | None = None,
) -> Iterator[Transaction]:
    """Lock a state while one version is made.

    Whatever fails in the block after the commit of a new version is a warning in its report.

    Args:
        state: The state.
        settings: What is recorded with the version, and how many versions keep their files.
        phases: Times what is done.
        after_commit: What else to do in the state; an error of it is a warning.

    Raises:
        StateLockedError: Another process holds it.
    """
    with state.lock():
        forget_peak()
        draft = Transaction(state, settings, phases)
        try:
            yield draft
        except Exception as error:
            if draft.is_committed:
                draft.not_shown(error)
                return
            if not (draft.is_rejected or isinstance(error, AbandonedError)):
                phases.listener(Failed(error))
            raise
        finally:
            if draft.is_committed:
                draft.end(after_commit)


class Transaction:
    """A version that is being made; its base stays current until `commit`."""

    def __init__(self, state: State, settings: VersionSettings, phases: Phases) -> None:
        """Begin; see `transaction`, which also holds the lock."""
        self.state = state
        self.phases = phases
        self.cost = Cost()
        """Cost counters of the training."""
        self.reading: Reading | None = None
        """What the version is made from, once it was taken."""
        self.prepared: PreparedVersion | None = None
        """What the version consists of, in memory; None if an older one is made current again."""
        self.is_committed = False
        """Whether the version is the current one: what fails later is repaired by the next step."""
        self.is_rejected = False
        """Whether a requirement was not met."""
        self._settings = settings
        self._requirements: list[Requirement] = []
        self._report: StepReport | None = None
        self._folder: VersionFolder | None = None
        self._warnings: tuple[str, ...] = ()

    @cached_property
    def base(self) -> CommittedVersion | None:
        """The version that is current before the commit; None before the first.

        Raises:
            StateError: The state is damaged, or of another format or store.
        """
        return current_version(self.state, in_memory=True)

    @cached_property
    def number(self) -> int:
        """The number of the version; no committed version has ever had it."""
        return self.state.next_number()

    @property
    def taken(self) -> Reading:
        """What the version is made from.

        Raises:
            StateError: Nothing was taken yet.
        """
        if self.reading is None:
            raise StateError("no reading was taken in this transaction")
        return self.reading

    @property
    def folder(self) -> VersionFolder:
        """The folder of the version, once it is written.

        Raises:
            StateError: It is not.
        """
        if self._folder is None:
            raise StateError("nothing was written in this transaction")
        return self._folder

    @property
    def has_report(self) -> bool:
        """Whether the version was learned, so that there is a report."""
        return self._report is not None

    @property
    def report(self) -> StepReport:
        """What was done so far, once that is known.

        Raises:
            StateError: It is not.
        """
        if self._report is None:
            raise StateError("nothing was learned in this transaction")
        return replace(self._report, seconds=self.phases.seconds, warnings=self._warnings)

    def warn(self, *warnings: str) -> None:
        """Add warnings to the report; they are not recorded with the version."""
        self._warnings = (*self._warnings, *warnings)

    def rescue_base(self) -> None:
        """Continue without a damaged base: it is set aside, and ids are assigned anew.

        Raises:
            StateError: The identity of the state is damaged too, which this cannot repair.
        """
        self.state.check_identity()
        try:
            if self.base is not None:
                self.base.check_graph()  # its ids are kept
        except StateCorruptedError as error:
            self.state.set_aside_current()
            self.base = None
            self.warn(f"ids are assigned anew, the damaged version was set aside: {error}")

    def repair(self) -> None:
        """Complete what an earlier transaction left undone in the state after its commit.

        Raises:
            StateError: The committed version cannot be read, or writing to disk failed.
        """
        if self.base is not None:
            show_current(self.state, self.base.folder)

    def require(self, *requirements: Requirement) -> None:
        """Add conditions for the commit."""
        self._requirements += requirements

    def take(self, reading: Reading) -> None:
        """Make the version from a reading.

        Raises:
            RejectedError: A requirement is not met.
        """
        self.reading = reading
        self._check()

    def nothing_new(self, warnings: tuple[str, ...] = ()) -> StepReport:
        """The report of a step that commits nothing."""
        base = self.base
        return StepReport(
            "nothing new",
            version=base.number if base else None,
            graph_version=base.graph_version.name if base else None,
            warnings=warnings,
        )

    def check_space(self) -> None:
        """Check before any work that the disk has space for a version as large as the base.

        Raises:
            StateWriteError: It has not.
        """
        if self.base is not None:
            files = self.base.manifest.files.values()
            self.state.check_space(sum(int(about["bytes"]) for about in files))

    def write(self, learned: Learned) -> None:
        """Write all files aside. The version is not committed yet.

        Raises:
            RejectedError: A requirement is not met.
            StateWriteError: Writing to disk failed.
        """
        number = self.number
        prepared = prepare(number, self.taken, learned, self.base, self._settings)
        report = replace(
            prepared.report,
            seconds=dict(self.phases.seconds),
            cost=self.cost,
            peak_memory_mb=peak_mb(),
            files=str(self.state.path / folder_name(number) / FOLDER),
        )
        self.prepared, self._report = prepared, report
        self._check()
        with self.phases("write"), self.state.drafting(number) as path:
            files = write_version(path, prepared.graph, prepared.sidecar, prepared.kept)
            moves = Moves(self.state.path).write(prepared.record)
            manifest = replace(prepared.manifest, report=report.to_json(), files=files, moves=moves)
            self._folder = self.state.seal(path, manifest)

    def amend(self, literals: dict[str, float] | None) -> None:
        """Record with the version how many literals were written."""
        if self._report is None or literals is None:
            return
        self._report = replace(self._report, literals=literals)
        self._folder = self.state.amend(self.folder, self._report.to_json())
        count = int(literals.get("left_out", 0))
        if count:
            self.warn(
                f"not written as literals: {counted(count, 'vector')} whose IRIs the store "
                "refuses; see the sidecar files"
            )

    def foreign_vectors(self, file: Path) -> dict[str, tuple[list[str], Any]]:
        """Vectors to adopt as the first version, by kind: IRIs and their vectors.

        Raises:
            StateError: The state already has versions.
            ConfigError: The file cannot be read, or has another layout.
            StateWriteError: The disk has no space for them.
        """
        if self.base is not None:
            raise StateError(
                f"the state {self.state.path} already has versions; vectors can only be adopted "
                "as the first version: use another state directory"
            )
        vectors = load_vectors(file)
        self.state.check_space(sum(rows.nbytes for _, rows in vectors.values()))
        return vectors

    def restore(self, chosen: CommittedVersion) -> None:
        """Take an older version, as it is, in place of a new one.

        Raises:
            StateCorruptedError: One of its files does not match its checksum.
        """
        for name in chosen.manifest.files:
            chosen.folder.verified(name)
        self.number, self._folder = chosen.number, chosen.folder

    def commit(self) -> None:
        """Make the version the current one, by replacing the pointer.

        Raises:
            StateWriteError: Writing to disk failed.
        """
        with self.phases("commit"):
            self.state.commit(self.folder.manifest.version)
        self.is_committed = True
        if self.prepared is None:
            self.state.recent.forget()
        else:
            self.state.recent.keep(self.folder, self.prepared.contents(self.taken))

    def show(self, flip: Callable[[VersionFolder, list[int]], None]) -> None:
        """Show the version as current; then, and only then, drop the files of old ones.

        Args:
            flip: Shows it in the store, and the versions whose files are about to go.

        Raises:
            KgsyncError: Not all is shown; the next step finds what is left to do.
        """
        with self.phases("publish"):
            show_current(self.state, self.folder)
            superfluous = self.state.superfluous(self._settings.state.keep, self.folder)
            flip(self.folder, superfluous)
            self.state.drop_files(superfluous)
            Moves(self.state.path).drop(self._settings.state.history, self.folder)

    def not_shown(self, error: Exception) -> None:
        """Tell that something failed after the commit.

        Raises:
            KgsyncError: The version is an older one, so there is no report to warn in.
        """
        number, why = self.folder.manifest.version, _told(error)
        self.warn(f"version {number} is committed, but publishing is incomplete: {why}")
        if self._report is not None:
            return
        if isinstance(error, OSError):
            kind: type[KgsyncError] = StateWriteError
        else:
            kind = type(error) if isinstance(error, KgsyncError) else KgsyncError
        raise kind(
            f"version {number} is current in the state, but publishing is incomplete; the next "
            f"step completes it: {why}"
        ) from error

    def end(self, after_commit: Callable[[State], None] | None = None) -> None:
        """End a transaction whose version is committed, and tell so.

        Args:
            after_commit: What else to do in the state; an error of it is a warning.
        """
        manifest, report = self.folder.manifest, self._report
        try:
            if after_commit is not None:
                after_commit(self.state)
        except Exception as error:  # noqa: BLE001  the version is committed, whatever it is
            self.warn(
                f"version {manifest.version} is committed, but notes are left over: {_told(error)}"
            )
        self.phases.listener(
            Committed(
                manifest.version,
                manifest.graph_version["name"],
                report.action if report else ROLLED_BACK,
                sum(self.phases.seconds.values()),
                behind=report.behind if report else 0,
                warnings=self._warnings,
            )
        )

    def _check(self) -> None:
        try:
            for requirement in self._requirements:
                requirement.check(self)
        except RejectedError as error:
            self.is_rejected = True
            self.phases.listener(Rejected(error))
            raise


def _told(error: Exception) -> str:
    """An error in a warning; one that is not ours says its type."""
    return str(error) if isinstance(error, KgsyncError | OSError) else repr(error)
