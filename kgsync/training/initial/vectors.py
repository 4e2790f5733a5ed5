"""Initial vectors (alg. TDSM_init): survivors keep theirs, new ones are set and pretrained."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray

from kgsync.common.cost import Cost
from kgsync.graph.active import Active, shared_rows
from kgsync.graph.terms import Ids
from kgsync.models.base import Kind, Model
from kgsync.training.backends import pretrainer_for
from kgsync.training.initial.closed_forms import place
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.initial.order import NewElement, initialization_order
from kgsync.training.problem import Problem
from kgsync.training.progress import Progress, no_progress
from kgsync.training.row_copies import copy_rows, rows_of
from kgsync.training.torch_backend.pretraining import triples_at_a_time

__all__ = ["carry_over", "initialize"]

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows in the old and in the new numbering."""

_KINDS: tuple[Kind, Kind] = ("relation", "entity")


def carry_over(model: Model, before: Active, problem: Problem) -> Model:
    """The model for a new version: rows of survivors carried over, new rows pre-initialised.

    New rows get the mean over the elements that are in both versions, normals renormalised;
    random ones if the settings say so, or where no element is in both.

    Args:
        model: The old version's model.
        before: The elements its rows belong to.
        problem: The new version.
    """
    settings = problem.settings
    after = problem.active
    sizes: dict[Kind, int] = {"entity": len(after.entities), "relation": len(after.relations)}
    shared = {kind: shared_rows(_ids(before, kind), _ids(after, kind)) for kind in _KINDS}
    layout = model.layout(settings.model)
    is_random = settings.update.initial_vectors == "random"
    if is_random or not all(len(old) for old, _ in shared.values()):
        generator = problem.seeds.torch("initial vectors")
        started = type(model).random(settings.model, sizes["entity"], sizes["relation"], generator)
    else:  # nothing is random, so the random numbers are not drawn
        tables = {name: torch.empty(sizes[spec.kind], spec.width) for name, spec in layout.items()}
        started = type(model)(settings.model, tables)
    if not is_random:
        _average(started, model, shared)
    for name, spec in layout.items():
        from_rows, to_rows = shared[spec.kind]
        copy_rows(started.tables[name], to_rows, model.tables[name], from_rows)
    return started


def _average(started: Model, model: Model, shared: Mapping[Kind, Pairs]) -> None:
    """Set the rows of new elements to the mean over the others, if there are any."""
    for kind, (from_rows, to_rows) in shared.items():
        is_new = np.ones(started.sizes[kind], bool)
        is_new[to_rows] = False
        new = torch.from_numpy(np.flatnonzero(is_new))
        if not len(new) or not len(from_rows):
            continue
        tables = {name: table[:0] for name, table in started.tables.items()}
        for name in started.names(kind):
            mean = rows_of(model.tables[name], from_rows).mean(0)
            tables[name] = mean.repeat(len(new), 1)
        part = type(started)(started.settings, tables)
        part.normalize()
        for name in started.names(kind):
            started.tables[name][new] = part.tables[name]


def initialize(
    model: Model,
    before: Active,
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
    new = {kind: _new_rows(before, problem, kind) for kind in _KINDS}
    if not any(map(len, new.values())):
        return
    # A negative of a new element has that element, too: no other triple is looked up.
    near = problem.training.around(new["entity"], new["relation"])
    train = problem.training.take(near)
    survivors = shared_rows(before.entities, problem.active.entities)[1]
    place_negatives, train_negatives = (
        KeyedNegatives(train, survivors, problem.hashes, problem.seeds.number(phase))
        for phase in ("places", "pre-training")
    )
    levels = _levels(initialization_order(train, new["entity"], new["relation"]))
    pretrainer = pretrainer_for(model, problem, train_negatives, cost) if trained else None
    for done, elements in enumerate(levels):
        for kind in _KINDS:
            chosen = [element for element in elements if element.kind == kind]
            if not chosen:
                continue
            evidence = Evidence.of(kind, chosen, train)
            if placed:
                for block in evidence.blocks(triples_at_a_time(model)):
                    place(model, block, place_negatives, settings)
            if pretrainer:
                pretrainer.train(evidence)
        progress("initial vectors", done + 1, len(levels))


def _levels(order: list[NewElement]) -> list[list[NewElement]]:
    """The elements with informative triples, by depth."""
    informed = sorted((e for e in order if len(e.informative)), key=lambda e: e.depth)
    return [list(level) for _, level in groupby(informed, key=lambda e: e.depth)]


def _new_rows(before: Active, problem: Problem, kind: Kind) -> NDArray[np.int64]:
    """Rows of the new elements in the order of their IRIs."""
    terms = problem.terms.entities if kind == "entity" else problem.terms.relations
    new = _ids(problem.active, kind)
    is_new = np.ones(len(new), bool)
    is_new[shared_rows(_ids(before, kind), new)[1]] = False
    rows = np.flatnonzero(is_new)
    by_name = np.asarray(terms.names(new[rows]).to_pylist(), dtype=object).argsort(kind="stable")
    return rows[by_name]


def _ids(active: Active, kind: Kind) -> Ids:
    return active.entities if kind == "entity" else active.relations
