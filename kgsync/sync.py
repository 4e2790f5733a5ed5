"""`KGSync`, the whole line: poll → version → change set → update → commit → publish.

In: a store, settings and a state directory. Out: committed versions, reports, published metadata.
May import every room up to config.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgsync.common.listener import AnyListener, Events, Phases
from kgsync.config.settings import Settings, load_sync_settings
from kgsync.graph.stores import StoreTarget, opened, store_name
from kgsync.service.next_version import accept_rejected, forget_notes, plan_next, take_next
from kgsync.service.status import Status, status_of
from kgsync.source.source import Source
from kgsync.state.committed import CommittedVersion, kept_version
from kgsync.state.transaction import Transaction, transaction
from kgsync.training.entry import (
    adopt_version,
    check_alignable,
    learn_version,
    planned_update,
    relearn_version,
)
from kgsync.vectors.reader import Reader

if TYPE_CHECKING:
    from kgsync.service.schedule import Schedule
    from kgsync.state.report import Plan, StepReport

__all__ = ["KGSync"]


class KGSync(Reader):
    """Keeps embeddings in step with a graph."""

    settings: Settings

    def __init__(
        self,
        store: StoreTarget,
        graphs: str | None = None,
        *,
        state: Path | str | None = None,
        settings: Settings | None = None,
        listener: AnyListener | None = None,
    ) -> None:
        """Set up a sync; nothing is opened yet.

        Args:
            store: A path (embedded Oxigraph, or files), the URL of a SPARQL endpoint or an
                `Endpoint`, a `pyoxigraph.Store`, an `rdflib.Dataset` or `Graph`, or any object
                that satisfies `kgsync.graph.port.GraphStore`.
            graphs: Graph IRI with `{version}`, or the IRI of one live graph; see
                `SourceSettings.graphs`.
            state: State directory; `.kgsync/<name of the store>` by default.
            settings: Everything else.
            listener: A function that receives every event (`kgsync.common.events`), or an object
                with the methods `phase` and `progress`; several in one `Events(...)`.

        Raises:
            ConfigError: The store is in memory and no state directory is given.
        """
        settings = settings or Settings()
        if graphs is not None:
            settings = replace(settings, source=replace(settings.source, graphs=graphs))
        chosen = state or settings.state.path
        path = (
            Path(chosen) if chosen else Path(".kgsync") / store_name(store, settings.source.graphs)
        )
        super().__init__(settings, path, store)
        self.listener: AnyListener = listener or Events()
        self._schedule: Schedule | None = None

    @classmethod
    def from_config(cls, path: Path | str, listener: AnyListener | None = None) -> KGSync:
        """Create a sync from a `kgsync.toml`.

        Raises:
            ConfigError: The file is wrong, or names no store.
        """
        settings = load_sync_settings(path)
        return cls(settings.source.store, settings=settings, listener=listener)

    # -- moving forward ------------------------------------------------------------------------

    def plan(self) -> Plan:
        """What the next step would do. Nothing is written, in the state or in the store."""
        draft = Transaction(self.state, self.settings, Phases(Events()))  # never committed
        self._check_settings(draft.base)
        with opened(self._target) as store:
            plan = plan_next(draft, self._source(), store, self.settings)
        return replace(plan, update=planned_update(draft.reading, draft.base, self.settings))

    def step(self, *, allow_large_removal: bool = False, now: bool = False) -> StepReport:
        """Take one graph version: read it, update the vectors, commit and publish them.

        Args:
            allow_large_removal: Continue even if more than `max_removed` of the edges are removed.
            now: Take the change even if it is smaller than `min_change`.

        Returns:
            The report; `changed` is False if nothing is new, or if the change is too small.

        Raises:
            RejectedError: A guard rejects the version; the sync is paused until `accept`.
            KgsyncError: The step failed. Either way the committed version is unchanged: what fails
                after the commit is a warning in the report.
        """
        with self._transaction() as draft:
            self._check_settings(draft.base)
            draft.repair()
            publish, source = self._publish(), self._source()
            with (
                draft.phases("fetch"),
                opened(self._target, workspace=self.state.workspace) as store,
            ):
                publish.check(store, draft.base)
                taken = take_next(
                    draft,
                    source,
                    store,
                    self.settings,
                    allow_large_removal=allow_large_removal,
                    now=now,
                )
            if taken.reading is None:
                return taken.report
            draft.warn(*taken.warnings)
            draft.check_space()
            learned = learn_version(
                draft.taken, draft.base, self.settings, draft.phases, draft.cost
            )
            draft.write(learned)
            source.remember(draft.taken, draft.number)  # not of what a guard rejects
            publish.release(draft)  # staged, committed, shown
        return draft.report

    def catch_up(self, *, allow_large_removal: bool = False, now: bool = False) -> list[StepReport]:
        """Step until nothing is new; returns the reports of all committed versions."""
        reports = []
        while (report := self.step(allow_large_removal=allow_large_removal, now=now)).changed:
            reports.append(report)
            if report.behind == 0:
                break
        return reports

    def rebuild(self, *, aligned: bool = False) -> StepReport:
        """Train from scratch on the newest graph version with the current settings.

        Args:
            aligned: Bring the vectors into the space of the current ones, so that models fitted on
                those keep working; see `kgsync.training.retraining`.

        Raises:
            StateError: With `aligned`, there are no vectors to align with, they are damaged, or of
                another model or length.
        """
        with self._transaction() as draft:
            if aligned:
                check_alignable(draft.base, self.settings)
            else:
                draft.rescue_base()
            publish, source = self._publish(), self._source()
            with (
                draft.phases("fetch"),
                opened(self._target, workspace=self.state.workspace) as store,
            ):
                publish.check(store, None)
                draft.take(source.newest(store, draft.base))
            draft.check_space()
            given = self.settings, draft.phases, draft.cost
            if aligned and draft.base is not None:
                learned = relearn_version(draft.taken, draft.base, *given)
            else:
                learned = learn_version(draft.taken, None, *given)
            if draft.number > 1:
                learned = replace(learned, action="rebuilt")
            draft.write(learned)
            source.remember(draft.taken, draft.number)
            publish.release(draft)
        return draft.report

    def adopt(self, file: Path | str) -> StepReport:
        """Adopt existing vectors as the first version, without training.

        Args:
            file: Vectors by IRI; see `kgsync.state.sidecar.load_vectors`.

        Raises:
            StateError: The state already has versions, or the disk has no space.
            ConfigError: The file does not fit the model or the graph.
        """
        with self._transaction() as draft:
            vectors = draft.foreign_vectors(Path(file))
            publish, source = self._publish(), self._source()
            with (
                draft.phases("fetch"),
                opened(self._target, workspace=self.state.workspace) as store,
            ):
                publish.check(store, None)
                reading = source.first(store)
                draft.take(reading)
            with draft.phases("adopt"):
                learned = adopt_version(reading, vectors, str(file), self.settings)
            draft.write(learned)
            source.remember(draft.taken, draft.number)
            publish.release(draft)
        return draft.report

    def rollback(self, version: int) -> None:
        """Make an older version the current one again, in the state and in the store.

        The next step continues from that version: it takes the later graph versions again, under
        new numbers.

        Args:
            version: Its number; its files must still exist.

        Raises:
            StateRequestError: There is no such version, or its files are gone.
            StateError: Its files are damaged, or writing to disk failed.
            StoreError: The store cannot be written. Nothing has changed, unless the message says
                that the version is current.
        """
        kept_version(self.state, version)  # fail before the lock is taken or a state is created
        with self._transaction() as draft:
            if self.state.is_current(version):
                return
            publish = self._publish()
            draft.restore(kept_version(self.state, version))
            publish.stage(draft)
            draft.commit()
            publish.show(draft)

    def accept(self) -> None:
        """Accept what a guard rejected, like a large removal: the next step applies it.

        Raises:
            StateRequestError: The sync is not paused.
            ConfigError: The pause has another reason, so there is nothing to accept.
        """
        accept_rejected(self.state)

    def status(self) -> Status:
        """Status of this sync, read from the state alone; the store is not queried."""
        return status_of(self.state, self.store)

    def compact(self) -> tuple[int, int]:
        """Free the disk space of deleted literals in the embedded store that is published into.

        Returns:
            Bytes on disk before and after.

        Raises:
            ConfigError: It is not an embedded store on disk.
            StoreError: It is in use, or the disk is full; nothing has changed.
        """
        with self.state.lock():
            return self._publish().compact()

    def run(self, every: str | None = None, cron: str | None = None) -> None:
        """Catch up on a schedule until `stop` is called or Ctrl-C is pressed.

        Args:
            every: Interval between runs, like "15m"; `schedule.every` by default.
            cron: A cron expression of five fields, instead of `every`.

        Raises:
            ConfigError: Neither the arguments nor the settings contain a schedule.
            SettingsChangedError: The settings no longer fit the stored vectors. Other errors pause
                the sync.
        """
        from kgsync.service.schedule import Schedule

        self._schedule = Schedule([self], every, cron)
        self._schedule.run()
        for error in self._schedule.errors:
            raise error

    def stop(self) -> None:
        """Stop `run` from another thread; a step that is not yet committing is abandoned."""
        if self._schedule is not None:
            self._schedule.stop()

    # -- the stations of the line --------------------------------------------------------------

    def _transaction(self) -> AbstractContextManager[Transaction]:
        return transaction(self.state, self.settings, Phases(self.listener), forget_notes)

    def _source(self) -> Source:
        return Source(self.settings, self.state, Events(self.listener))

    def _check_settings(self, base: CommittedVersion | None) -> None:
        if base is not None:
            self.settings.check_meaning(base.manifest.fingerprint)
