"""Initial vectors (alg. TDSM_init): survivors keep theirs, new ones are set and pretrained."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from kgsync.common.cost import Cost
from kgsync.graph.living import Living
from kgsync.graph.terms import Ids, TermTable
from kgsync.models.base import Kind, Model
from kgsync.training.backends import pretrainer_for
from kgsync.training.evidence import Evidence, KeyedNegatives
from kgsync.training.order import NewElement, initialization_order
from kgsync.training.places import place
from kgsync.training.pretraining import triples_at_a_time
from kgsync.training.problem import Problem
from kgsync.training.progress import Progress, no_progress

__all__ = ["carry_over", "initialize"]

_KINDS: tuple[Kind, Kind] = ("relation", "entity")


def carry_over(model: Model, before: Living, problem: Problem) -> Model:
    """The model for a new version: rows of survivors carried over, new rows pre-initialised.

    New rows get the mean over the elements that are in both versions, normals renormalised;
    random ones if the settings say so, or where no element is in both.

    Args:
        model: The old version's model.
        before: The elements its rows belong to.
        problem: The new version.
    """
    settings = problem.settings
    after = problem.living
    sizes = len(after.entities), len(after.relations)
    generator = problem.seeds.torch("start vectors")
    started = type(model).random(settings.model, *sizes, generator)
    shared = {kind: _shared(_ids(before, kind), _ids(after, kind)) for kind in _KINDS}
    layout = model.layout(settings.model)
    if settings.update.initial_vectors != "random":
        for name, spec in layout.items():
            from_rows, _ = shared[spec.kind]
            if len(from_rows):
                started.tables[name][:] = model.tables[name][from_rows].mean(0)
        started.normalize()
    for name, spec in layout.items():
        from_rows, to_rows = shared[spec.kind]
        started.tables[name][to_rows] = model.tables[name][from_rows]
    return started


def initialize(
    model: Model,
    before: Living,
    problem: Problem,
    cost: Cost,
    progress: Progress = no_progress,
) -> None:
    """Give new elements initial vectors from their informative triples, in place.

    The order needs no vectors. So it is found first, and then all elements of the same depth are
    initialised and pretrained together.

    Args:
        model: What `carry_over` made.
        before: The elements of the old version.
        problem: The new version.
        cost: Counters to increase.
        progress: Told about every depth.
    """
    settings = problem.settings.update
    placed = settings.initial_vectors not in ("average", "random")
    trained = settings.pretraining_epochs > 0
    if not placed and not trained:
        return
    survivors = _shared(before.entities, problem.living.entities)[1].numpy()
    place_negatives, train_negatives = (
        KeyedNegatives(problem.train, survivors, problem.hashes, problem.seeds.number(phase))
        for phase in ("places", "pre-training")
    )
    levels = _levels(_order(before, problem))
    pretrainer = pretrainer_for(model, problem, train_negatives, cost) if trained else None
    for done, elements in enumerate(levels):
        for kind in _KINDS:
            chosen = [element for element in elements if element.kind == kind]
            if not chosen:
                continue
            evidence = Evidence.of(kind, chosen, problem.train)
            if placed:
                for block in evidence.blocks(triples_at_a_time(model)):
                    place(model, block, place_negatives, settings)
            if pretrainer:
                pretrainer.train(evidence)
        progress("start vectors", done + 1, len(levels))


def _order(before: Living, problem: Problem) -> list[NewElement]:
    living, terms = problem.living, problem.terms
    return initialization_order(
        problem.train,
        _new_rows(before.entities, living.entities, terms.entities),
        _new_rows(before.relations, living.relations, terms.relations),
    )


def _levels(order: list[NewElement]) -> list[list[NewElement]]:
    """The elements with informative triples, by depth."""
    informed = sorted((e for e in order if len(e.informative)), key=lambda e: e.depth)
    return [list(level) for _, level in groupby(informed, key=lambda e: e.depth)]


def _new_rows(old: Ids, new: Ids, table: TermTable) -> np.ndarray:
    """Rows of the new elements in the order of their IRIs."""
    rows = np.flatnonzero(~np.isin(new, old))
    by_name = np.asarray(table.names(new[rows]).to_pylist(), dtype=object).argsort(kind="stable")
    return rows[by_name]


def _shared(old: Ids, new: Ids) -> tuple[Tensor, Tensor]:
    """Rows of the shared ids in the old and in the new numbering."""
    _, from_rows, to_rows = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    return torch.from_numpy(from_rows), torch.from_numpy(to_rows)


def _ids(living: Living, kind: Kind) -> Ids:
    return living.entities if kind == "entity" else living.relations
