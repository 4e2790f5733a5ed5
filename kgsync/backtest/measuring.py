"""What a backtest measures of a model: quality, what was learned and forgotten, and stability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import NDArray

from kgsync.errors import UndefinedMetricError
from kgsync.evaluation.classification import triple_classification
from kgsync.evaluation.moved_rows import Embedded, moved_ids
from kgsync.evaluation.ranking import HITS
from kgsync.graph.active import shared_rows
from kgsync.graph.change import ChangeSet
from kgsync.models.base import Kind, Model
from kgsync.training.kept import Kept
from kgsync.training.problem import Earlier, Problem

__all__ = ["Before", "compared", "tested"]


@dataclass(frozen=True)
class Before:
    """The version before, as one method has left it."""

    embedded: Embedded
    kept: Kept
    """What its update remembers, with its ranks."""
    change: ChangeSet
    """What has changed since."""


def tested(
    model: Model, problem: Problem, before: Before | None
) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
    """Fields of the record about quality, and the ranks to be kept."""
    earlier = None
    if before is not None:
        old = before.embedded
        earlier = Earlier.of(before.kept, old.model, old.active, before.change)
    ranked = problem.ranked(model, earlier)
    found = problem.quality(ranked)
    about = {
        "mrr": found.mrr if found else None,
        "mrr_error": found.mrr_error if found else None,
        "mr": found.mr if found else None,
        "accuracy": _accuracy(model, problem),
        **{f"hits_at_{k}": found.hits[k] if found else None for k in HITS},
    }
    return about, ranked.arrays() if ranked else {}


def compared(model: Model, problem: Problem, before: Before | None) -> dict[str, Any]:
    """Fields of the record about what has changed since the version before."""
    names = "nmc_entities", "nmc_entities_error", "nmc_relations"
    if before is None:
        return dict.fromkeys(names)
    old, new = before.embedded, Embedded(model, problem.active)
    change = problem.stability(old.model, old.active, model)
    entities, relations = change["entity"], change["relation"]
    found = problem.learned(model, before.change)
    overlap = problem.neighbors(old.model, old.active, model)
    return {
        "nmc_entities": entities.nmc if entities else None,
        "nmc_entities_error": entities.error if entities else None,
        "nmc_relations": relations.nmc if relations else None,
        "rewritten_entities": _rewritten(old, new, "entity"),
        "rewritten_relations": _rewritten(old, new, "relation"),
        "groups": {name: asdict(each) for name, each in found.groups.items()} if found else {},
        "neighbors": asdict(overlap) if overlap else None,
    }


def _accuracy(model: Model, problem: Problem) -> float | None:
    try:
        return triple_classification(
            model,
            problem.active.rows(problem.edges),
            problem.active.rows(problem.split.validation),
            problem.active.rows(problem.split.test),
            problem.seeds.numpy("classification"),
        ).accuracy
    except UndefinedMetricError:
        return None


def _rewritten(old: Embedded, new: Embedded, kind: Kind) -> float | None:
    stayed = len(shared_rows(old.ids(kind), new.ids(kind))[0])
    return len(moved_ids(old, new, kind)) / stayed if stayed else None
