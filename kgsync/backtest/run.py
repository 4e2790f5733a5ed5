"""Run a backtest: for each version, every model with every method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgsync.backtest.records import METHODS, Method, Moment, Record, RecordFolder
from kgsync.common.cost import Cost
from kgsync.common.listener import Listener, Phases, SilentListener
from kgsync.config import ModelSettings, Settings
from kgsync.errors import ConfigError, UndefinedMetricError
from kgsync.evaluation.classification import triple_classification
from kgsync.evaluation.ranking import HITS, LinkPrediction
from kgsync.evaluation.stability import MeanChange
from kgsync.graph.living import Living
from kgsync.graph.reading import Reading
from kgsync.graph.split import edge_hashes
from kgsync.graph.stores import StoreTarget, opened
from kgsync.graph.versions import GraphVersion
from kgsync.models import MODELS, model_class
from kgsync.models.base import Kind, Model
from kgsync.source.reading import Earlier, read_version, versions_of
from kgsync.training.backends import warm_up
from kgsync.training.problem import Problem
from kgsync.training.procedure import Procedure
from kgsync.training.progress import TrainingRun
from kgsync.training.threads import use_threads

__all__ = ["backtest"]

_FOLLOWING = "update", "leave"
"""Methods that continue from the model of the previous version."""


def backtest(
    store: StoreTarget,
    settings: Settings,
    out: Path,
    *,
    models: Sequence[str] = (),
    methods: Sequence[Method] = METHODS,
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
        methods: What to compare.
        first: First version, counted from 0, oldest first.
        last: Last version; all if not given.
        listener: Hears about phases and progress.

    Raises:
        ConfigError: There is no history, or a name or number is wrong.
        StateLockedError: Another process is working in the folder.
    """
    for method in methods:
        if method not in METHODS:
            raise ConfigError(f"there is no method {method!r}; known: {', '.join(METHODS)}")
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
        contests = [_Contest(plan, methods, folder, listener) for plan in plans]
        earlier = Earlier.committed(None, settings)
        for number, version in enumerate(history):
            with opened(store) as open_:
                reading = read_version(open_, (version,), earlier, settings)
            folder.follow(number, version.name, _checksum(reading))
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
        methods: Sequence[Method],
        folder: RecordFolder,
        listener: Listener,
    ) -> None:
        self._settings = settings
        self._methods = methods
        self._folder = folder
        self._listener = listener
        self._before: Living | None = None

    def take(self, number: int, reading: Reading) -> None:
        """Run every method on the next version, unless its result exists."""
        problem = Problem.of(reading, self._settings, number + 1)
        name = self._settings.model.name
        for method in self._methods if number else ("train",):
            done = self._folder.get(name, method, number)
            if done is None:
                self._listener.phase(f"{name}, version {number}: {method}")
                self._step(number, method, reading, problem)
        self._before = problem.living

    def _step(self, number: int, method: Method, reading: Reading, problem: Problem) -> None:
        old, before = self._old_model(number, method), self._before
        watch = _Watch(problem)
        procedure = Procedure(Phases(_ProgressOnly(self._listener)), watch.cost, watch.see)
        if old is None or before is None or method not in _FOLLOWING:
            model, run = procedure.train(problem)
        else:
            model, run = procedure.carry_over(old, before, problem), TrainingRun()
            if method == "update":
                run = procedure.update(model, before, reading.change, problem)
        seconds = watch.seconds()
        record = Record(
            self._settings.model.name,
            method,
            number,
            reading.version.name,
            len(reading.edges),
            len(problem.living.entities),
            len(problem.living.relations),
            len(reading.change.added_triples),
            len(reading.change.deleted_triples),
            seconds=seconds,
            epochs=run.epochs,
            best_epoch=run.best_epoch,
            **asdict(watch.cost),
            **_quality(model, problem),
            **self._stability(old, model, problem),
            moments=tuple(watch.moments),
        )
        self._folder.put(record, model.tables)

    def _old_model(self, number: int, method: Method) -> Model | None:
        if number == 0:
            return None
        settings = self._settings.model
        tables = self._folder.tables(settings.name, method, number - 1)
        return model_class(settings.name)(settings, tables)

    def _stability(self, old: Model | None, model: Model, problem: Problem) -> dict[str, Any]:
        """Fields of the record about how far the vectors moved."""
        names = "nmc_entities", "nmc_entities_error", "nmc_relations"
        if old is None or self._before is None:
            return dict.fromkeys(names)
        change = problem.stability(old, self._before, model)
        entities, relations = change["entity"], change["relation"]
        values = (
            entities.nmc if entities else None,
            entities.error if entities else None,
            relations.nmc if relations else None,
        )
        return dict(zip(names, values, strict=True))


class _ProgressOnly(SilentListener):
    """Passes progress on: the phases of a backtest are its versions and methods."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def progress(self, name: str, done: int, total: int) -> None:
        """Pass it on."""
        self._listener.progress(name, done, total)


class _Watch:
    """Times a run, and measures the model at every validation outside the measured time."""

    def __init__(self, problem: Problem) -> None:
        self.cost = Cost()
        self.moments: list[Moment] = []
        self._problem = problem
        self._start = time.perf_counter()
        self._off_clock = 0.0
        self._last: Model | None = None

    def seconds(self) -> float:
        """Time since the start, without the time spent here."""
        return time.perf_counter() - self._start - self._off_clock

    def see(self, epoch: int, model: Model, quality: LinkPrediction) -> None:
        """Note a validation."""
        seconds, arrived = self.seconds(), time.perf_counter()
        now = type(model)(model.settings, model.copy_tables())
        change: dict[Kind, MeanChange | None] = {}
        if self._last is not None:
            change = self._problem.stability(self._last, self._problem.living, now)
        entities, relations = change.get("entity"), change.get("relation")
        self.moments.append(
            Moment(
                epoch,
                seconds,
                quality.mrr,
                quality.hits[10],
                entities.nmc if entities else None,
                relations.nmc if relations else None,
            )
        )
        self._last = now
        self._off_clock += time.perf_counter() - arrived


def _checksum(reading: Reading) -> str:
    """Of the edges, in any order."""
    hashes = edge_hashes(reading.edges, reading.fetched.terms)
    return f"{hashes.sum(dtype=np.uint64):016x}"


def _quality(model: Model, problem: Problem) -> dict[str, Any]:
    """Fields of the record about quality."""
    tested = problem.test(model)
    hits = {f"hits_at_{k}": tested.hits[k] if tested else None for k in HITS}
    try:
        accuracy = triple_classification(
            model,
            problem.living.rows(problem.edges),
            problem.living.rows(problem.split.validation),
            problem.living.rows(problem.split.test),
            problem.seeds.numpy("classification"),
        ).accuracy
    except UndefinedMetricError:
        accuracy = None
    return {
        "mrr": tested.mrr if tested else None,
        "mrr_error": tested.mrr_error if tested else None,
        "mr": tested.mr if tested else None,
        "accuracy": accuracy,
        **hits,
    }
