"""From a graph version to a model and its report: trained, updated, unchanged, or adopted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases
from kgsync.errors import StateCorruptedError
from kgsync.evaluation.carried_ranks import CarriedRanks
from kgsync.evaluation.ranking import LinkPrediction
from kgsync.evaluation.stability import MeanChange
from kgsync.evaluation.unchanged_sample import UnchangedSample
from kgsync.graph.active import Active
from kgsync.graph.change import ChangeSet
from kgsync.graph.reading import Reading
from kgsync.graph.snapshot import Snapshot
from kgsync.models.base import Kind, Model
from kgsync.models.parts.restoring import restored_model
from kgsync.training.adoption import adopt_vectors
from kgsync.training.backends import warm_up
from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.problem import Earlier, Problem
from kgsync.training.procedure import Procedure
from kgsync.training.progress import TrainingRun
from kgsync.training.settings import remembers
from kgsync.training.trained import LearnedVersion, Trained
from kgsync.training.work import SCORES_PER_TRIPLE

__all__ = ["adopt", "learn", "relearn"]

_SAMPLE = "sample.unchanged"
"""What `UnchangedSample` has of a version, as kept for the next one."""
_NONE_TOUCHED: Mapping[Kind, NDArray[np.int64]] = {
    "entity": np.empty(0, np.int64),
    "relation": np.empty(0, np.int64),
}


def learn(
    reading: Reading,
    current: LearnedVersion | None,
    problem: Problem,
    phases: Phases,
    cost: Cost,
) -> Trained:
    """Train from scratch, update, or keep the vectors, depending on the change.

    Args:
        reading: The graph version.
        current: The committed version, if there is one to update.
        problem: The reading, ready to be trained on.
        phases: Times what is done.
        cost: Counters to increase.
    """
    procedure = Procedure(phases, cost)
    if current is None or reading.change:
        with phases("compile"):
            warm_up(problem.settings, phases.listener.phase)
    if current is None:
        model, run = procedure.train(problem)
        with phases("evaluate"):
            ranked = problem.ranked(model)
            about = _about(run, problem.quality(ranked))
        return Trained("trained", model, about, _kept(run, ranked, problem))
    if not reading.change:
        about = {"quality": current.quality}
        model = restored_model(current.model, current.tables)
        return Trained("unchanged", model, about, current.kept)
    return _moved_on("updated", reading, current, problem, procedure)


def relearn(
    reading: Reading, current: LearnedVersion, problem: Problem, phases: Phases, cost: Cost
) -> Trained:
    """Retrain, aligned with the committed version; see `learn`.

    The models must have the same tables.
    """
    with phases("compile"):
        warm_up(problem.settings, phases.listener.phase)
    return _moved_on("rebuilt", reading, current, problem, Procedure(phases, cost))


def _moved_on(
    action: Literal["updated", "rebuilt"],
    reading: Reading,
    current: LearnedVersion,
    problem: Problem,
    procedure: Procedure,
) -> Trained:
    """Update or retrain the vectors of the committed version."""
    phases, before = procedure.phases, current.active
    # Nobody moves the old one.
    old = restored_model(current.model, current.tables, copied=False)
    model = procedure.carry_over(old, before, problem)
    kept = Kept(current.kept) if action == "updated" else _known_work(current)
    # A version that is rebuilt was not compared with the committed one.
    change = reading.change if action == "updated" else None
    earlier = Earlier.of(kept, old, before, change) if change else None
    with phases("evaluate"):
        # Nothing has moved yet but the rows of new elements.
        quality_before = problem.quality(problem.ranked(model, earlier, _NONE_TOUCHED))
    if action == "updated":
        run = procedure.update(model, before, reading.change, problem, kept)
    else:
        run = procedure.retrain(model, before, reading.change, problem, kept)
    with phases("evaluate"):
        ranked = problem.ranked(model, earlier, run.touched)
        about = _about(run, problem.quality(ranked))
        about["quality_before"] = _plain(quality_before)
        about["update"] = asdict(run.choice) if run.choice else None
        moved = problem.stability(old, before, model, run.touched)
        about["stability"] = _as_values(moved)
        unchanged = _unchanged_sample(problem, change, kept)
        about |= _compared(model, problem, change, old, before, unchanged)
        if run.alignment is not None:
            moved_before = _as_values(run.alignment.moved_before)
            about["alignment"] = {"method": run.alignment.method, "stability_before": moved_before}
    return Trained(action, model, about, _kept(run, ranked, problem, unchanged))


def _known_work(current: LearnedVersion) -> Kept:
    """All that rebuilding needs of what updates remember, so damage of that does no harm."""
    try:
        known = Kept(current.kept).number(SCORES_PER_TRIPLE)
    except StateCorruptedError:
        known = None
    return NOTHING_KEPT if known is None else NOTHING_KEPT.with_number(SCORES_PER_TRIPLE, known)


def adopt(
    reading: Reading, problem: Problem, vectors: dict[str, tuple[list[str], Any]], file: str
) -> Trained:
    """Take given vectors as they are; see `adopt_vectors`."""
    warm_up(problem.settings)
    model, counts = adopt_vectors(problem, reading.fetched.terms, vectors, file)
    return Trained("adopted", model, {"quality": _plain(problem.test(model)), "adopted": counts})


def _unchanged_sample(
    problem: Problem, change: ChangeSet | None, kept: Kept
) -> UnchangedSample | None:
    """The sample of unchanged triples, as it follows from that of the version before."""
    size = problem.settings.evaluation.learned_sample
    if not size or not change:
        return None
    known = kept.arrays.get(_SAMPLE)
    before = Snapshot.empty() if known is None else Snapshot(*known)
    return UnchangedSample(before, size).next(problem.split.train, change, problem.terms)


def _kept(
    run: TrainingRun,
    ranked: CarriedRanks | None,
    problem: Problem,
    unchanged: UnchangedSample | None = None,
) -> Mapping[str, NDArray[Any]]:
    """What the next update is told; its ranks only where it leaves most vectors in place."""
    if not remembers(problem.settings.update.strategy):
        return run.kept.arrays
    kept = dict(run.kept.with_ranks(ranked.arrays() if ranked else {}).arrays)
    kept.pop(_SAMPLE, None)  # that of the version before
    return kept if unchanged is None else {**kept, _SAMPLE: np.stack(unchanged.triples.columns)}


def _about(run: TrainingRun, quality: LinkPrediction | None) -> dict[str, Any]:
    """Fields of the report."""
    return {
        "quality": _plain(quality),
        "validation": _plain(run.best),
        "epochs": run.epochs,
        "best_epoch": run.best_epoch,
        "stopped_early": run.stopped_early,
    }


def _compared(
    model: Model,
    problem: Problem,
    change: ChangeSet | None,
    old: Model,
    before: Active,
    unchanged: UnchangedSample | None,
) -> dict[str, Any]:
    """Fields of the report: what was learned and forgotten, and which neighbors are the same."""
    about = dict[str, Any]()
    found = problem.learned(model, change, unchanged)
    if found is not None:
        about["learned"] = found.to_json()
    if problem.settings.evaluation.neighbors_sample:
        overlap = problem.neighbors(old, before, model)
        about["neighbors"] = asdict(overlap) if overlap else None
    return about


def _as_values(moved: Mapping[Kind, MeanChange | None]) -> dict[str, Any]:
    return {kind: asdict(nmc) if nmc else None for kind, nmc in moved.items()}


def _plain(quality: LinkPrediction | None) -> dict[str, Any] | None:
    return quality.to_json() if quality else None
