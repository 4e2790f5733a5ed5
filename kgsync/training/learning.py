"""From a graph version to a model and its report: trained, updated, unchanged, or adopted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases
from kgsync.evaluation.ranking import LinkPrediction
from kgsync.graph.reading import Reading
from kgsync.models.restoring import restored_model
from kgsync.training.adoption import adopt_vectors
from kgsync.training.backends import warm_up
from kgsync.training.problem import Problem
from kgsync.training.procedure import Procedure
from kgsync.training.progress import TrainingRun
from kgsync.training.trained import LearnedVersion, Trained

__all__ = ["adopt", "learn"]


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
            return Trained("trained", model, _about(run, problem.test(model)))
    if not reading.change:
        about = {"quality": current.quality}
        return Trained("unchanged", restored_model(current.model, current.tables), about)
    old, before = restored_model(current.model, current.tables), current.living
    model = procedure.carry_over(old, before, problem)
    with phases("evaluate"):
        quality_before = problem.test(model)
    run = procedure.update(model, before, reading.change, problem)
    with phases("evaluate"):
        about = _about(run, problem.test(model))
        about["quality_before"] = _plain(quality_before)
        moved = problem.stability(old, before, model)
        about["stability"] = {kind: asdict(nmc) if nmc else None for kind, nmc in moved.items()}
    return Trained("updated", model, about)


def adopt(
    reading: Reading, problem: Problem, vectors: dict[str, tuple[list[str], Any]], file: str
) -> Trained:
    """Take given vectors as they are; see `adopt_vectors`."""
    warm_up(problem.settings)
    model, counts = adopt_vectors(problem, reading.fetched.terms, vectors, file)
    return Trained("adopted", model, {"quality": _plain(problem.test(model)), "adopted": counts})


def _about(run: TrainingRun, quality: LinkPrediction | None) -> dict[str, Any]:
    """Fields of the report."""
    return {
        "quality": _plain(quality),
        "validation": _plain(run.best),
        "epochs": run.epochs,
        "best_epoch": run.best_epoch,
        "stopped_early": run.stopped_early,
    }


def _plain(quality: LinkPrediction | None) -> dict[str, Any] | None:
    return quality.to_json() if quality else None
