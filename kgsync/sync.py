"""The whole line: poll → version → change set → update → publish → commit."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsync.common.cost import Cost
from kgsync.common.listener import Listener, Phases, SilentListener
from kgsync.common.memory import forget_peak
from kgsync.config import Settings, load_settings
from kgsync.config.differences import differences
from kgsync.errors import (
    ConfigError,
    SettingsChangedError,
    StateCorruptedError,
    StateError,
)
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import GraphStore
from kgsync.graph.stores import StoreTarget, opened, store_identity, store_name
from kgsync.graph.versions import GraphVersion, VersionList
from kgsync.graph.watch import StoreWatch
from kgsync.service.pausing import Pause, pausing, read_checked
from kgsync.source.gathering import Choice, Waiting, choose
from kgsync.source.reading import (
    Earlier,
    Reading,
    graph_version_of,
    note_reading,
    passed_over,
    read_version,
    todo,
    versions_of,
)
from kgsync.source.rewritten import CommittedFiles, remember_files
from kgsync.source.settling import await_rest
from kgsync.state.committed import CommittedVersion
from kgsync.state.committing import commit, make_current
from kgsync.state.directory import State
from kgsync.state.draft import Trained
from kgsync.state.entry import show_current
from kgsync.state.report import Plan, StepReport
from kgsync.state.sidecar import load_vectors
from kgsync.training.threads import use_threads
from kgsync.vectors.reader import Reader

if TYPE_CHECKING:
    from kgsync.service.schedule import Schedule
    from kgsync.training.problem import Problem

__all__ = ["KGSync"]


class KGSync(Reader):
    """Keeps embeddings in step with a graph."""

    def __init__(
        self,
        store: StoreTarget,
        graphs: str | None = None,
        *,
        state: Path | str | None = None,
        settings: Settings | None = None,
        listener: Listener | None = None,
    ) -> None:
        """Name the graph and the settings; nothing is opened yet.

        Args:
            store: A path (embedded Oxigraph, or files), the URL of a SPARQL endpoint or an
                `Endpoint`, a `pyoxigraph.Store`, an `rdflib.Dataset` or `Graph`, or any object
                that satisfies `kgsync.graph.port.GraphStore`.
            graphs: Graph IRI with `{version}` in it, or of one live graph; see
                `SourceSettings.graphs`.
            state: State directory; `.kgsync/<name of the store>` by default.
            settings: Everything else.
            listener: Hears about phases and progress.

        Raises:
            ConfigError: An in-memory store without a state directory.
        """
        settings = settings or Settings()
        if graphs is not None:
            settings = replace(settings, source=replace(settings.source, graphs=graphs))
        chosen = state or settings.state.path
        path = (
            Path(chosen) if chosen else Path(".kgsync") / store_name(store, settings.source.graphs)
        )
        target = settings.source.endpoint.applied(store)
        self.watch = StoreWatch()
        """How long the store has worked for this sync, if it is an endpoint."""
        if isinstance(target, Endpoint):
            target = replace(target, watch=self.watch)
        super().__init__(settings, State(path, store_identity(store, path)), target)
        self.listener = listener or SilentListener()
        self._schedule: Schedule | None = None

    @classmethod
    def from_config(cls, path: Path | str, listener: Listener | None = None) -> KGSync:
        """Make a sync from a `kgsync.toml`.

        Raises:
            ConfigError: The file is wrong, or names no store.
        """
        settings = load_settings(path)
        if settings.source.store is None:
            raise ConfigError(f"{path} names no store; set source.store")
        if settings.state.path is None:
            home = Path(path).parent / ".kgsync"
            home /= store_name(settings.source.store, settings.source.graphs)
            settings = replace(settings, state=replace(settings.state, path=str(home)))
        return cls(settings.source.store, settings=settings, listener=listener)

    # -- moving forward ------------------------------------------------------------------------

    def plan(self) -> Plan:
        """What the next step would do. Nothing is written, in the state or in the store."""
        current = self._current()
        self._check_settings(current)
        with opened(self._target) as store:
            versions = versions_of(store, self.settings)
            late = passed_over(versions, current, self.state)
            files = CommittedFiles.look(store, current, self.state)
            nothing = Plan(None, versions.order, 0, versions.pending, late)
            nothing = replace(nothing, warnings=files.warnings(taken=False))
            ahead = todo(versions, current, self.settings)
            if not ahead:
                return nothing
            choice = choose(store, ahead, current, self.settings, self.state)
        reading = choice.reading
        if current is not None and versions.order == "live" and not reading.change:
            return nothing
        return replace(
            nothing,
            graph_version=reading.version.name,
            behind=len(ahead),
            change=reading.change.counts(),
            empty=versions.empty_between(graph_version_of(current), reading.version),
            gathered=reading.gathered,
            waiting_until=choice.until,
            removed_share=reading.removed_share,
            skipped=reading.skipped,
            way=reading.fetched.way,
            reason=files.reason or reading.fetched.reason,
            caveat=reading.fetched.caveat,
            warnings=files.warnings(taken=True),
        )

    def step(self, *, allow_large_removal: bool = False, now: bool = False) -> StepReport:
        """Take one graph version: read it, update the vectors, publish and commit them.

        Args:
            allow_large_removal: Go on even if more than `max_removed` of the edges vanish.
            now: Take also a change that is smaller than `min_change`.

        Returns:
            What was done; `changed` is False if there was nothing new, or not enough.

        Raises:
            KgsyncError: Whatever went wrong; the committed version is as it was.
        """
        phases = Phases(self.listener)
        with self.state.lock():
            forget_peak()
            current = self._current()
            self._check_settings(current)
            show_current(self.state)
            with pausing(self.state, current), phases("fetch"), self._opened() as store:
                self._publish().check(store, current.folder if current else None)
                versions = versions_of(store, self.settings)
                late = passed_over(versions, current, self.state)
                files = CommittedFiles.look(store, current, self.state)
                nothing = _nothing_new(
                    current, (*_late_warnings(late), *files.warnings(taken=False))
                )
                ahead = todo(versions, current, self.settings)
                if not ahead:
                    Pause.end(self.state)
                    return nothing
                ahead = self._await_rest(store, versions, ahead, initial=current is None)

                def read() -> Choice:
                    return choose(store, ahead, current, self.settings, self.state, now=now)

                choice = read_checked(
                    read,
                    current,
                    self.settings,
                    self.state,
                    self.listener,
                    shared=store.capabilities.shared,
                    allow_large_removal=allow_large_removal,
                )
            reading = choice.reading
            note_reading(reading, self.state)
            if choice.waiting is not None:
                Pause.end(self.state)
                choice.waiting.save(self.state)
                return replace(nothing, **choice.report())
            if current is not None and versions.order == "live" and not reading.change:
                Pause.end(self.state)
                Waiting.forget(self.state)  # what had waited was taken back
                return nothing
            self.state.check_space(current.folder if current else None)
            cost = Cost()
            trained = self._train(reading, current, phases, cost)
            report = self._commit(reading, trained, current, phases, cost)
            Pause.end(self.state)
            empty = _empty_warnings(
                versions.empty_between(graph_version_of(current), reading.version)
            )
            empty += (*_late_warnings(late), *files.warnings(taken=True))
            return replace(report, warnings=(*report.warnings, *empty))

    def catch_up(self, *, allow_large_removal: bool = False, now: bool = False) -> list[StepReport]:
        """Step until there is nothing new; returns the report of every version committed."""
        reports = []
        while (report := self.step(allow_large_removal=allow_large_removal, now=now)).changed:
            reports.append(report)
            if report.behind == 0:
                break
        return reports

    def rebuild(self) -> StepReport:
        """Train from scratch on the newest graph version, under the settings as they are now."""
        phases = Phases(self.listener)
        with self.state.lock():
            forget_peak()
            current, warnings = self._current_or_damage()
            with phases("fetch"), self._opened() as store:
                self._publish().check(store, None)
                versions = versions_of(store, self.settings)
                newest = versions.versions[-1:]
                self._await_rest(store, versions, newest, initial=True)
                earlier = replace(Earlier.committed(current, self.settings), base=None)
                reading = read_version(store, newest, earlier, self.settings)
            cost = Cost()
            trained = self._train(reading, None, phases, cost)
            if self.state.next_number() > 1:
                trained = replace(trained, action="rebuilt")
            report = self._commit(reading, trained, current, phases, cost)
            Pause.end(self.state)
            return replace(report, warnings=(*warnings, *report.warnings))

    def adopt(self, file: Path | str) -> StepReport:
        """Take existing vectors as the first version, unmoved; nothing is trained.

        Args:
            file: Vectors by IRI; see `kgsync.state.sidecar.load_vectors`.

        Raises:
            StateError: The state has versions already.
            ConfigError: The file does not fit the model or the graph.
        """
        phases = Phases(self.listener)
        with self.state.lock():
            if self._current() is not None:
                raise StateError(
                    f"the state {self.state.path} has versions already; vectors can only be "
                    "adopted as the first one: use another state directory"
                )
            vectors = load_vectors(Path(file))
            with phases("fetch"), self._opened() as store:
                self._publish().check(store, None)
                versions = versions_of(store, self.settings)
                ahead = todo(versions, None, self.settings)
                ahead = self._await_rest(store, versions, ahead, initial=True)
                earlier = Earlier.committed(None, self.settings)
                reading = read_version(store, ahead, earlier, self.settings)
            with phases("adopt"):
                trained = self._adopted(reading, vectors, str(file))
            return self._commit(reading, trained, None, phases, Cost())

    def rollback(self, version: int) -> None:
        """Make an older version the current one again, in the state and in the store.

        The next step goes on from there: it takes the graph versions after that one again, under
        numbers that were never used.

        Args:
            version: Its number; its files must be kept still.

        Raises:
            StateError: There is no such version, its files are gone or damaged, or the disk
                refused.
            StoreError: The store cannot be written. Unless the message says that the version is
                current, nothing has changed.
        """
        phases = Phases(self.listener)
        self._committed(version)  # an error does not need the lock, nor make a state
        with self.state.lock():
            if self.state.is_current(version):
                return
            chosen = self._committed(version)
            make_current(chosen, self.settings, self.state, self._publish(), phases)
            Waiting.forget(self.state)

    def accept(self) -> None:
        """Say that what has paused this sync is right: the next step takes it at once.

        Raises:
            StateError: Nothing has paused it.
            ConfigError: There is nothing that could be taken.
        """
        with self.state.lock():
            pause = Pause.of(self.state, self._current())
            if pause is None:
                raise StateError(
                    f"nothing is paused in {self.state.path}: there is nothing to accept"
                )
            pause.accept(self.state)

    def compact(self) -> tuple[int, int]:
        """Give back the disk space of deleted literals, where an embedded store is published into.

        Returns:
            Bytes on disk before and after.

        Raises:
            ConfigError: It is no embedded store on disk.
            StoreError: It is in use, or the disk is full; nothing was changed.
        """
        with self.state.lock():
            return self._publish().compact()

    def run(self, every: str | None = None, cron: str | None = None) -> None:
        """Catch up again and again, until `stop` is called or Ctrl-C is pressed.

        Args:
            every: Time between two runs, like "15m"; `schedule.every` if nothing is given.
            cron: Instead: a cron line of five fields.

        Raises:
            ConfigError: Neither the arguments nor the settings say when.
            SettingsChangedError: A setting fits the vectors no more. Any other error pauses it.
        """
        from kgsync.service.schedule import Schedule

        self._schedule = Schedule([self], every, cron)
        self._schedule.run()
        for error in self._schedule.errors:
            raise error

    def stop(self) -> None:
        """End `run` from another thread; a step that is not being committed is abandoned."""
        if self._schedule is not None:
            self._schedule.stop()

    # -- the stations of the line --------------------------------------------------------------

    def _current_or_damage(self) -> tuple[CommittedVersion | None, tuple[str, ...]]:
        """The committed version, or a warning about it if it is damaged and set aside."""
        self.state.check_identity()  # training does not cure damage to it
        try:
            current = self._current()
            if current is not None:
                current.check_graph()  # a rebuild carries its ids on
        except StateCorruptedError as error:
            self.state.set_aside_current()
            return None, (f"ids start anew, the damaged version was set aside: {error}",)
        return current, ()

    def _await_rest(
        self,
        store: GraphStore,
        versions: VersionList,
        ahead: tuple[GraphVersion, ...],
        *,
        initial: bool,
    ) -> tuple[GraphVersion, ...]:
        return await_rest(
            store, versions, ahead, self.settings, self.state, self.listener, initial=initial
        )

    def _check_settings(self, current: CommittedVersion | None) -> None:
        if current is None:
            return
        now, then = self.settings.fingerprint(), current.manifest.fingerprint
        changed = sorted(key for key in now if now[key] != then.get(key))
        if changed:
            details = differences(
                *({key: tree.get(key) for key in changed} for tree in (then, now))
            )
            raise SettingsChangedError(
                f"settings that fix the meaning of the stored vectors have changed ({details}); "
                "change them back, or run `kgsync rebuild` to train anew"
            )

    def _train(
        self, reading: Reading, current: CommittedVersion | None, phases: Phases, cost: Cost
    ) -> Trained:
        use_threads(self.settings.run.threads)
        from kgsync.training.learning import learn

        return learn(reading, current, self._problem(reading), phases, cost)

    def _adopted(
        self, reading: Reading, vectors: dict[str, tuple[list[str], Any]], file: str
    ) -> Trained:
        use_threads(self.settings.run.threads)
        from kgsync.training.learning import adopt

        return adopt(reading, self._problem(reading), vectors, file)

    def _problem(self, reading: Reading) -> Problem:
        from kgsync.training.problem import Problem

        return Problem.of(reading, self.settings, self.state.next_number())

    def _commit(
        self,
        reading: Reading,
        trained: Trained,
        current: CommittedVersion | None,
        phases: Phases,
        cost: Cost,
    ) -> StepReport:
        publish = self._publish()
        remember_files(reading.files, self.state)
        return commit(reading, trained, current, self.settings, self.state, publish, phases, cost)

    def _opened(self) -> AbstractContextManager[GraphStore]:
        return opened(self._target, workspace=self.state.workspace)


def _nothing_new(current: CommittedVersion | None, warnings: tuple[str, ...]) -> StepReport:
    manifest = current.manifest if current else None
    return StepReport(
        "nothing new",
        version=manifest.version if manifest else None,
        graph_version=manifest.graph_version["name"] if manifest else None,
        warnings=warnings,
    )


def _empty_warnings(empty: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"<{name}> is in the catalogue, but empty: it was passed over" for name in empty)


def _late_warnings(late: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"<{name}> turned up late and is older than the current version" for name in late)
