"""Changes that nobody plans for: each strategy does something sensible, and bounded work."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import Settings, TrainingSettings, UpdateSettings
from kgsync.models.base import Model
from kgsync.training.initial.vectors import carry_over
from kgsync.training.progress import TrainingRun
from kgsync.training.settings import strategies
from kgsync.training.updates import UpdateTask, strategy
from tests.models.cases import CASES as ALL_CASES
from tests.models.cases import ModelCase
from tests.training.graphs import Triple, Version

CASES = {
    case.settings.name: case for case in ALL_CASES if case.name in ("transe-l1", "distmult-l1")
}

RING: tuple[Triple, ...] = tuple((i, i % 2, (i + 1) % 40) for i in range(40))
CHORDS: tuple[Triple, ...] = tuple((i, 2, (i + 7) % 40) for i in range(40))
OLD = Version(train=RING + CHORDS, validation=((0, 1, 2), (5, 1, 9)))
OTHERS: tuple[Triple, ...] = tuple((i, i % 3, (i * 3 + 5) % 40) for i in range(40))
ISLANDS: tuple[Triple, ...] = tuple((i, 0, i + 1) for i in range(40, 60, 2))

UNUSUAL = {
    "everything is replaced": Version(train=OTHERS),
    "a relation disappears": replace(OLD, train=RING),
    "new entities know only each other": replace(OLD, train=OLD.train + ISLANDS),
    "a tenth is left": Version(train=RING[:8]),
    "nothing is left to train on": Version(train=(), validation=RING[:3]),
    "only one triple is left": Version(train=RING[:1]),
}


@dataclass(frozen=True)
class Updated:
    """What an update led to."""

    before: Model
    model: Model
    run: TrainingRun
    cost: Cost


def _updated(
    case: ModelCase, old: Version, new: Version, name: str, general: int = 6, change: int = 2
) -> Updated:
    settings = Settings(
        model=case.settings,
        training=TrainingSettings(epochs=20, batches=4, validate_every=0),
        update=UpdateSettings(strategy=name, general_epochs=general, change_epochs=change),
    )
    active, problem, cost = old.active, new.problem(settings), Cost()
    before = case.random(len(active.entities), len(active.relations))
    before.tables.update({name: table.float() for name, table in before.tables.items()})
    model = carry_over(before, active, problem)
    phases = Phases(SilentListener())
    task = UpdateTask(model, active, old.change_to(new), problem, phases, cost)
    return Updated(before, model, strategy(name)(task), cost)


@pytest.mark.parametrize("name", strategies())
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("new", UNUSUAL.values(), ids=UNUSUAL)
def test_vectors_are_finite_and_the_work_is_bounded(
    new: Version, case: ModelCase, name: str
) -> None:
    done = _updated(case, OLD, new, name)
    active = new.active
    assert done.model.sizes == {"entity": len(active.entities), "relation": len(active.relations)}
    assert all(bool(table.isfinite().all()) for table in done.model.tables.values())
    # 300 epochs over all triples, added ones eight times, with as many more of other kinds.
    triples = len(new.train) + 8 * len(OLD.train)
    assert done.cost.score_evaluations <= 2 * 2 * 300 * triples


@pytest.mark.parametrize("name", ["local", "auto"])
def test_a_hub_with_100_000_triples_that_gains_one_costs_little(name: str) -> None:
    spokes = tuple((0, 0, i) for i in range(1, 100_001))
    old = Version(train=spokes)
    new = Version(train=(*spokes, (0, 0, 100_001)))
    done = _updated(CASES["transe"], old, new, name)
    once = 2 * len(spokes)  # an epoch over all triples
    # What unchanged triples look like is measured once, with 20,000 of them.
    assert done.cost.score_evaluations - 2 * 4 * 20_000 < once / 10
    moved = (done.model.tables["entity"][:100_001] != done.before.tables["entity"]).any(1)
    assert np.flatnonzero(moved.numpy()).tolist() == [0]


@pytest.mark.parametrize(("general", "change"), [(0, 3), (3, 0), (0, 0)])
def test_the_paper_procedure_without_some_of_its_epochs(general: int, change: int) -> None:
    new = replace(OLD, train=(*OLD.train[1:], (3, 1, 12)))
    case = CASES["transe"]
    done = _updated(case, OLD, new, "paper", general, change)
    assert done.run.epochs == general + change
    moved = (done.model.tables["entity"] != done.before.tables["entity"]).any()
    assert bool(moved) == (general + change > 0)
