"""The whole line: poll → version → change set → update → publish → commit."""

from __future__ import annotations

import resource
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from kgsync.committed import CommittedVersion, write_version
from kgsync.config import Settings, load_settings
from kgsync.draft import Trained, prepare
from kgsync.entry import show_current
from kgsync.errors import (
    ConfigError,
    KgsyncError,
    SettingsChangedError,
    StateCorruptedError,
    StateError,
)
from kgsync.evaluation.cost import Cost
from kgsync.gathering import Waiting, choose
from kgsync.graph.living import Living
from kgsync.graph.port import GraphStore
from kgsync.graph.stores import StoreTarget, opened, store_identity, store_label, store_name
from kgsync.listener import Listener, Phases, SilentListener
from kgsync.publish.sidecar import load_vectors
from kgsync.publishing import PublishTarget
from kgsync.reading import (
    Earlier,
    Reading,
    check_removal,
    graph_version_of,
    note_whole,
    passed_over,
    read_version,
    todo,
    versions_of,
)
from kgsync.report import Plan, Status, StepReport
from kgsync.run_status import RunStatus
from kgsync.seeds import Seeds
from kgsync.settling import await_rest
from kgsync.state import State
from kgsync.training.threads import use_threads

if TYPE_CHECKING:
    from kgsync.graph.table import Table
    from kgsync.schedule import Schedule
    from kgsync.training.problem import Problem
    from kgsync.vectors import Neighbor, Prediction, Vector, VectorView

__all__ = ["KGSync"]


class KGSync:
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
        self.settings = settings
        path = (
            Path(chosen) if chosen else Path(".kgsync") / store_name(store, settings.source.graphs)
        )
        self.state = State(path, store_identity(store, path))
        self._target = settings.source.endpoint.applied(store)
        self.listener = listener or SilentListener()
        self._schedule: Schedule | None = None
        self._view: tuple[tuple[str, int, str], VectorView] | None = None

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
            late = passed_over(versions, self.state)
            nothing = Plan(None, versions.order, 0, versions.pending, late)
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
            reason=reading.fetched.reason,
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
            current = self._current()
            self._check_settings(current)
            show_current(self.state)
            with phases("fetch"), self._opened() as store:
                self._publish().check(store, current.folder if current else None)
                versions = versions_of(store, self.settings)
                late = passed_over(versions, self.state)
                ahead = todo(versions, current, self.settings)
                if not ahead:
                    return _nothing_new(current, late)
                ahead = await_rest(store, versions, ahead, self.settings, self.state)
                choice = choose(store, ahead, current, self.settings, self.state, now=now)
            reading = choice.reading
            note_whole(reading, self.state)
            if choice.waiting is not None:
                choice.waiting.save(self.state)
                return replace(_nothing_new(current, late), **choice.report())
            if current is not None and versions.order == "live" and not reading.change:
                Waiting.forget(self.state)  # what had waited was taken back
                return _nothing_new(current, late)
            if not allow_large_removal:
                check_removal(reading, self.settings)
            cost = Cost()
            trained = self._train(reading, current, phases, cost)
            report = self._commit(reading, trained, current, phases, cost)
            empty = _empty_warnings(
                versions.empty_between(graph_version_of(current), reading.version)
            )
            return replace(report, warnings=(*report.warnings, *empty, *_late_warnings(late)))

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
            current, warnings = self._current_or_damage()
            with phases("fetch"), self._opened() as store:
                self._publish().check(store, None)
                versions = versions_of(store, self.settings)
                newest = versions.versions[-1:]
                await_rest(store, versions, newest, self.settings, self.state)
                earlier = replace(Earlier.committed(current, self.settings), base=None)
                reading = read_version(store, newest, earlier, self.settings)
            cost = Cost()
            trained = self._train(reading, None, phases, cost)
            if self.state.next_number() > 1:
                trained = replace(trained, action="rebuilt")
            report = self._commit(reading, trained, current, phases, cost)
            return replace(report, warnings=(*warnings, *report.warnings))

    def adopt(self, file: Path | str) -> StepReport:
        """Take existing vectors as the first version, unmoved; nothing is trained.

        Args:
            file: Vectors by IRI; see `kgsync.publish.sidecar.load_vectors`.

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
                ahead = await_rest(store, versions, ahead, self.settings, self.state)
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
            StateError: There is no such version, or its files are gone or damaged.
            StoreError: The store cannot be written; nothing has changed.
        """
        phases = Phases(self.listener)
        with self.state.lock():
            chosen = self._committed(version)
            for name in chosen.manifest.files:
                chosen.folder.verified(name)
            publish = self._publish()
            with phases("stage"):
                publish.stage(chosen.folder)
            self.state.commit(version)
            Waiting.forget(self.state)
            with phases("publish"):
                self._publish_head(publish, version)

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
            KgsyncError: What ended it; errors that may pass are tried again.
        """
        from kgsync.schedule import Schedule

        self._schedule = Schedule([self], every, cron)
        self._schedule.run()
        for error in self._schedule.errors:
            raise error

    def stop(self) -> None:
        """End `run` from another thread; a step that is not being committed is abandoned."""
        if self._schedule is not None:
            self._schedule.stop()

    # -- reading -------------------------------------------------------------------------------

    def at(self, version: int | None = None) -> VectorView:
        """The vectors of one committed version; of the current one if none is named.

        Raises:
            StateError: There is no such version, or its files are gone.
        """
        from kgsync.vectors import VectorView

        chosen = self._current() if version is None else self._committed(version)
        if chosen is None:
            raise StateError(
                f"there is no embedding in {self.state.path} yet; run `kgsync step` first"
            )
        # A state may have been replaced by another one behind our back.
        key = self.state.uuid, chosen.manifest.version, chosen.manifest.created
        if self._view is None or self._view[0] != key:
            self._view = key, VectorView(chosen)
        return self._view[1]

    def embedding(self, iri: str) -> Vector:
        """The current vector of an entity, as a numpy array.

        Raises:
            UnknownTermError: It has none (also a KeyError).
        """
        return self.at().embedding(iri)

    def relation_embedding(self, iri: str) -> Vector:
        """The current vector of a relation, as a numpy array.

        Raises:
            UnknownTermError: It has none (also a KeyError).
        """
        return self.at().relation_embedding(iri)

    def query(self, query: str | Path, /, *, at: int | None = None, **parameters: object) -> Table:
        """Run a query where the metadata is published; `kgsync query` lists those there are.

        Args:
            query: The name of one, a SPARQL text, or the path of a file.
            at: The version behind `kge:vector` and `kge:score`; the current one by default.
            parameters: Values for its placeholders; `from_` stands for `from`.

        Raises:
            ConfigError: A parameter is wrong, or the store cannot run this query.
            QueryError: A function could not use what it was given.
            StateError: There is no such version.
            StoreError: The query is wrong, or the store failed.
        """
        from kgsync.querying import find_query, run_query

        given = {name.removesuffix("_"): value for name, value in parameters.items()}
        return run_query(self, self._publish, find_query(query), given, at)

    @overload
    def neighbors(self, iri: str, k: int = 10) -> list[Neighbor]: ...

    @overload
    def neighbors(self, iri: list[str], k: int = 10) -> list[list[Neighbor]]: ...

    def neighbors(self, iri: str | list[str], k: int = 10) -> list[Neighbor] | list[list[Neighbor]]:
        """The k entities nearest to one by cosine, nearest first; for several, a list each."""
        return self.at().neighbors(iri, k)

    def predict(
        self,
        *,
        relation: str,
        head: str | None = None,
        tail: str | None = None,
        k: int = 10,
        new_only: bool = False,
    ) -> list[Prediction]:
        """The k most plausible entities for the missing head or tail, best first.

        Args:
            relation: IRI of the relation.
            head: IRI of the head, to predict tails.
            tail: IRI of the tail, to predict heads.
            k: How many.
            new_only: Leave out answers that the graph has already.
        """
        return self.at().predict(relation=relation, head=head, tail=tail, k=k, new_only=new_only)

    def history(self) -> list[StepReport]:
        """The reports of all committed versions, oldest first."""
        if not self.state.exists:
            return []
        return [StepReport.from_json(v.manifest.report) for v in self.state.versions()]

    def status(self) -> Status:
        """Where this sync stands; the store is not asked."""
        current = self._current()
        folders = self.state.versions() if current is not None else []
        manifest = current.manifest if current else None
        return Status(
            state=str(self.state.path),
            store=store_label(self._target),
            version=manifest.version if manifest else None,
            graph_version=manifest.graph_version["name"] if manifest else None,
            created=manifest.created if manifest else None,
            model=manifest.model if manifest else None,
            versions=len(folders),
            retained=tuple(f.manifest.version for f in folders if f.retained),
            report=StepReport.from_json(manifest.report) if manifest else None,
            run=RunStatus.load(self.state.path),
        )

    # -- the stations of the line --------------------------------------------------------------

    def _current(self) -> CommittedVersion | None:
        if not self.state.exists:
            return None
        assert self.state.uuid  # refuses a state of another format
        folder = self.state.current()
        return None if folder is None else CommittedVersion(folder)

    def _committed(self, number: int) -> CommittedVersion:
        folder = self.state.version(number)
        if not folder.retained:
            kept = [str(f.manifest.version) for f in self.state.versions() if f.retained]
            raise StateError(
                f"the files of version {number} are gone; those of {', '.join(kept) or 'none'} are "
                "kept (state.keep)"
            )
        return CommittedVersion(folder)

    def _current_or_damage(self) -> tuple[CommittedVersion | None, tuple[str, ...]]:
        """The committed version, or a warning about it if it is damaged and set aside."""
        try:
            current = self._current()
            if current is not None:
                assert current.graph  # reads and checks what a rebuild carries on
        except StateCorruptedError as error:
            self.state.set_aside_current()
            return None, (f"ids start anew, the damaged version was set aside: {error}",)
        return current, ()

    def _check_settings(self, current: CommittedVersion | None) -> None:
        if current is None:
            return
        now, then = self.settings.fingerprint(), current.manifest.fingerprint
        changed = sorted(key for key in now if now[key] != then.get(key))
        if changed:
            details = "; ".join(f"{key} was {then.get(key)}, is {now[key]}" for key in changed)
            raise SettingsChangedError(
                f"settings that fix the meaning of the stored vectors have changed ({details}); "
                "change them back, or run `kgsync rebuild` to train anew"
            )

    def _train(
        self, reading: Reading, current: CommittedVersion | None, phases: Phases, cost: Cost
    ) -> Trained:
        use_threads(self.settings.run.threads)
        from kgsync.learning import learn

        return learn(reading, current, self._problem(reading), phases, cost)

    def _adopted(
        self, reading: Reading, vectors: dict[str, tuple[list[str], Any]], file: str
    ) -> Trained:
        use_threads(self.settings.run.threads)
        from kgsync.learning import adopt

        return adopt(reading, self._problem(reading), vectors, file)

    def _problem(self, reading: Reading) -> Problem:
        from kgsync.training.problem import Problem

        version = reading.version
        # A live version's name is a time: its place in the sequence makes the run repeatable.
        live = version.name != version.graph
        name = f"{version.graph}@{self.state.next_number()}" if live else version.name
        seeds = Seeds(self.settings.run.seed, name)
        living = Living.of(reading.edges)
        terms = reading.fetched.terms
        return Problem(living, reading.split, reading.edges, terms, self.settings, seeds)

    def _commit(
        self,
        reading: Reading,
        trained: Trained,
        current: CommittedVersion | None,
        phases: Phases,
        cost: Cost,
    ) -> StepReport:
        """Write the files, stage them in the store, move the pointer, flip the store's head."""
        number = self.state.next_number()
        draft = prepare(number, reading, trained, current, self.settings)
        report = replace(
            draft.report,
            seconds=dict(phases.seconds),
            cost=cost,
            peak_memory_mb=_peak_memory_mb(),
            files=str(self.state.path / f"{number:06d}" / "embeddings"),
        )
        with phases("write"), self.state.drafting(number) as path:
            write_version(path, draft.graph, draft.sidecar)
            folder = self.state.seal(path, replace(draft.manifest, report=report.to_json()))
        publish = self._publish()
        with phases("stage"):
            report = replace(report, literals=publish.stage(folder))
        with phases("commit"):
            self.state.commit(number)
        warnings: tuple[str, ...] = ()
        with phases("publish"):
            try:
                self._publish_head(publish, number)
            except (KgsyncError, OSError) as error:
                # The version is committed; the next step finds what is left to do.
                warnings = (f"version {number} is committed, but not all is published: {error}",)
        return replace(report, seconds=phases.seconds, warnings=warnings)

    def _publish_head(self, publish: PublishTarget, number: int) -> None:
        """Show the version as current; then, and only then, drop the files of old ones."""
        show_current(self.state)
        superfluous = self.state.superfluous(self.settings.state.keep)
        publish.flip(number, superfluous)
        self.state.drop_files(superfluous)

    def _opened(self) -> AbstractContextManager[GraphStore]:
        return opened(self._target, workspace=self.state.workspace)

    def _publish(self) -> PublishTarget:
        return PublishTarget(self.settings.publish, self._target, self.state)


def _nothing_new(current: CommittedVersion | None, late: tuple[str, ...]) -> StepReport:
    manifest = current.manifest if current else None
    return StepReport(
        "nothing new",
        version=manifest.version if manifest else None,
        graph_version=manifest.graph_version["name"] if manifest else None,
        warnings=_late_warnings(late),
    )


def _empty_warnings(empty: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"<{name}> is in the catalogue, but empty: it was passed over" for name in empty)


def _late_warnings(late: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"<{name}> turned up late and is older than the current version" for name in late)


def _peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
