"""Run a backtest: for each version, every model with every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kgsync.backtest.measuring import Before, compared, tested
from kgsync.backtest.methods import (
    DEFAULT_METHODS,
    FROZEN,
    SCRATCH,
    first_of,
    methods_named,
    settings_for,
    strategy_of,
)
from kgsync.backtest.record import Record
from kgsync.backtest.records import RecordFolder
from kgsync.backtest.watch import Watch
from kgsync.common.listener import Listener, SilentListener
from kgsync.config import ModelSettings, Settings
from kgsync.errors import ConfigError
from kgsync.evaluation.moved_rows import Embedded
from kgsync.graph.active import Active
from kgsync.graph.reading import Reading
from kgsync.graph.stores import StoreTarget, opened
from kgsync.graph.versions import GraphVersion
from kgsync.models import MODELS, model_class
from kgsync.models.base import Model
from kgsync.source.reading import Earlier, read_version, versions_of
from kgsync.training.backends import warm_up
from kgsync.training.problem import Problem
from kgsync.training.procedure import Procedure
from kgsync.training.progress import TrainingRun
from kgsync.training.threads import use_threads

__all__ = ["backtest"]


def backtest(
    store: StoreTarget,
    settings: Settings,
    out: Path,
    *,
    models: Sequence[str] = (),
    methods: Sequence[str] = DEFAULT_METHODS,
    first: int = 0,
    last: int | None = None,
    listener: Listener | None = None,
) -> RecordFolder:
    """Train on the first version, then compare the methods on every later one.

    Finished results are kept: called again with the same settings and folder, it resumes.

    Args:
        store: Where the history is.
        settings: As for a sync; the model is replaced by each of `models`.
        out: Folder of the results.
        models: Names of models; the one in the settings if none is given.
        methods: What to compare; see `kgsync.backtest.methods.known_methods`.
        first: First version, counted from 0, oldest first.
        last: Last version; all if not given.
        listener: Hears about phases and progress.

    Raises:
        ConfigError: There is no history, or a name or number is wrong.
        StateLockedError: Another process is working in the folder.
    """
    chosen_methods = methods_named(methods, settings)
    chosen = [_model_settings(settings.model, name) for name in models or (settings.model.name,)]
    plans = [replace(settings, model=model) for model in chosen]
    with opened(store) as open_:
        history = _history(versions_of(open_, settings).versions, first, last)
    use_threads(settings.run.threads)
    folder = RecordFolder(out)
    with folder.lock():
        folder.begin(_shared_recipe(settings, first))
        for plan in plans:
            folder.begin(_recipe(plan), plan.model.name)
            warm_up(plan)
        listener = listener or SilentListener()
        contests = [_Contest(plan, chosen_methods, folder, listener) for plan in plans]
        earlier = Earlier.committed(None, settings)
        for number, version in enumerate(history):
            with opened(store) as open_:
                reading = read_version(open_, (version,), earlier, settings)
            folder.follow(number, version.name, reading.sums.fingerprint)
            earlier = Earlier.read(reading, settings)
            for contest in contests:
                contest.take(number, reading)
            folder.export()
    return folder


def _shared_recipe(settings: Settings, first: int) -> dict[str, Any]:
    """Settings that all models share: the versions, the filter and the split."""
    meaning = settings.fingerprint()
    shared = {key: meaning[key] for key in ("graphs", "scope", "filter", "split", "seed")}
    return {**shared, "test_sample": settings.evaluation.test_sample, "first": first}


def _recipe(settings: Settings) -> dict[str, Any]:
    """What else the results of a model depend on."""
    sections = "model", "training", "update", "evaluation", "run"
    return {name: asdict(getattr(settings, name)) for name in sections}


def _history(
    versions: Sequence[GraphVersion], first: int, last: int | None
) -> Sequence[GraphVersion]:
    if len(versions) < 2:
        raise ConfigError("a backtest needs a graph with at least two versions; check `graphs`")
    end = len(versions) - 1 if last is None else last
    if not 0 <= first < end < len(versions):
        raise ConfigError(
            f"cannot use versions {first} to {end}: there are versions 0 to "
            f"{len(versions) - 1}, and a backtest needs at least two"
        )
    return versions[first : end + 1]


def _model_settings(given: ModelSettings, name: str) -> ModelSettings:
    """The settings of one of several models: a dimension of its own unless one was asked for."""
    if name == given.name or name not in MODELS:
        return replace(given, name=name)
    usual = given.dimension == MODELS[given.name].dimension
    return replace(
        given, name=name, dimension=0 if usual else given.dimension, relation_dimension=0
    )


class _Contest:
    """Runs all methods for one model, version by version."""

    def __init__(
        self,
        settings: Settings,
        methods: Sequence[str],
        folder: RecordFolder,
        listener: Listener,
    ) -> None:
        self._settings = settings
        self._methods = methods
        self._folder = folder
        self._listener = listener
        self._before: Active | None = None

    def take(self, number: int, reading: Reading) -> None:
        """Run every method on the next version, unless its result exists."""
        problem = Problem.of(reading, self._settings)
        name = self._settings.model.name
        first = dict.fromkeys(first_of(method, self._settings) for method in self._methods)
        for method in self._methods if number else first:
            if self._folder.get(name, method, number) is None:
                self._listener.phase(f"{name}, version {number}: {method}")
                self._step(number, method, reading, problem)
        self._before = problem.active

    def _step(self, number: int, method: str, reading: Reading, problem: Problem) -> None:
        before = self._last(number, method, reading)
        watch = Watch(self._listener, problem)
        model, run = self._run(method, before, problem, watch)
        times = watch.so_far()
        quality, ranks = tested(model, problem, before)
        record = Record(
            self._settings.model.name,
            method,
            number,
            reading.version.name,
            len(reading.edges),
            len(problem.active.entities),
            len(problem.active.relations),
            len(reading.change.added_triples),
            len(reading.change.deleted_triples),
            **asdict(times),
            phases=watch.by_phase(),
            epochs=run.epochs,
            best_epoch=run.best_epoch,
            strategy=strategy_of(method, self._settings),
            choice=asdict(run.choice) if run.choice and run.choice.reason else None,
            **asdict(watch.cost),
            **quality,
            **compared(model, problem, before),
            moments=tuple(watch.moments),
        )
        self._folder.put(record, model.tables, run.kept.with_ranks(ranks).arrays)

    def _run(
        self, method: str, before: Before | None, problem: Problem, watch: Watch
    ) -> tuple[Model, TrainingRun]:
        """What is timed: training, updating, or no more than new rows for new elements."""
        procedure = Procedure(watch, watch.cost, watch.see)
        own = replace(problem, settings=settings_for(method, self._settings))
        if before is None or method == SCRATCH:
            return procedure.train(own)
        old = before.embedded
        model = procedure.carry_over(old.model, old.active, own)
        if method == FROZEN:
            return model, TrainingRun()
        return model, procedure.update(model, old.active, before.change, own, before.kept)

    def _last(self, number: int, method: str, reading: Reading) -> Before | None:
        """The version before, as this method has left it; None at the first version."""
        if number == 0 or self._before is None:
            return None
        settings = self._settings.model
        left = method if number > 1 else first_of(method, self._settings)
        tables, kept = self._folder.kept(settings.name, left, number - 1)
        model = model_class(settings.name)(settings, tables)
        return Before(Embedded(model, self._before), kept, reading.change)
