"""Vectors that move become no longer than others with as many triples, without a margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kgsync import Settings
from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import UpdateSettings
from kgsync.models import MODELS
from kgsync.models.base import Model
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import NOTHING_KEPT
from kgsync.training.updates import UpdateTask, strategy
from kgsync.training.updates.parts.amounts import amounts_for
from kgsync.training.updates.parts.concern import Concern, concern_of
from kgsync.training.updates.parts.lengths import LimitedLengths
from tests.models.cases import CASES
from tests.training.graphs import Triple, Version

CASE = next(case for case in CASES if case.settings.name == "distmult")
RING: tuple[Triple, ...] = tuple((i, 0, (i + 1) % 30) for i in range(30))
HUB: tuple[Triple, ...] = tuple((40, 0, i) for i in range(2, 18))  # 16 triples
OLD = Version(train=RING + HUB)
# 50 and 51 are new; 50 has two triples, 51 sixteen. 0 and 1 gain one each.
BIG: tuple[Triple, ...] = tuple((51, 0, i) for i in range(2, 18))
NEW = Version(train=(*RING, *HUB, (50, 0, 0), (50, 0, 1), *BIG))


def _world(old: Version = OLD, new: Version = NEW) -> tuple[Model, Concern]:
    """A model whose rows have a length of 1, those of hubs 3."""
    problem = new.problem(Settings(model=CASE.settings))
    entities = problem.active.entities
    model = CASE.random(len(entities), 1, dtype=torch.float32)
    table = model.tables["entity"]
    table /= torch.linalg.vector_norm(table, dim=-1, keepdim=True)
    table[np.searchsorted(entities, 40)] *= 3
    return model, concern_of(old.change_to(new), problem, NOTHING_KEPT)


def _shortened(model: Model, concern: Concern, limit: float | None) -> list[float]:
    """The lengths after all moving rows have become ten times as long."""
    random = np.random.default_rng(0)
    lengths = LimitedLengths(model, concern, limit, random)
    model.tables["entity"][torch.from_numpy(concern.moving.entities)] *= 10
    lengths.shorten()
    found: list[float] = torch.linalg.vector_norm(model.tables["entity"], dim=-1).tolist()
    return found


def test_new_rows_become_as_long_as_the_usual_ones_with_as_many_triples() -> None:
    model, concern = _world()
    rows = dict(zip((*range(30), 40, 50, 51), _shortened(model, concern, 0.9), strict=True))
    assert rows[50] == pytest.approx(0.9, rel=1e-3)
    assert rows[51] == pytest.approx(0.9 * 3, rel=1e-3)


def test_a_row_may_stay_as_long_as_it_was() -> None:
    model, concern = _world()
    model.tables["entity"][0] *= 5
    rows = _shortened(model, concern, 0.9)
    assert rows[0] == pytest.approx(5, rel=1e-3)
    assert rows[1] == pytest.approx(1, rel=1e-3)


def test_rows_that_stay_are_not_touched() -> None:
    model, concern = _world()
    before = model.copy_tables()["entity"]
    _shortened(model, concern, 0.1)
    still = torch.from_numpy(~concern.moving.entities)
    assert still.any()
    assert torch.equal(model.tables["entity"][still], before[still])


def test_short_rows_keep_their_bits() -> None:
    model, concern = _world()
    lengths = LimitedLengths(model, concern, 0.9, np.random.default_rng(0))
    model.tables["entity"] *= 0.5
    before = model.copy_tables()["entity"]
    lengths.shorten()
    assert torch.equal(model.tables["entity"], before)


@pytest.mark.parametrize("limit", [None, 0.9])
def test_without_a_limit_or_anything_to_compare_with_rows_become_as_long_as_they_like(
    limit: float | None,
) -> None:
    if limit is None:
        model, concern = _world()
    else:  # everything moves
        islands = tuple((h + 100, r, t + 100) for h, r, t in RING)
        model, concern = _world(new=replace(OLD, train=islands))
        assert concern.moving.entities.all()
    before = torch.linalg.vector_norm(model.tables["entity"], dim=-1)
    moving = torch.from_numpy(concern.moving.entities)
    after = torch.tensor(_shortened(model, concern, limit))
    torch.testing.assert_close(after[moving], 10 * before[moving])


def test_a_local_update_keeps_to_the_limit() -> None:
    settings = Settings(model=CASE.settings, update=UpdateSettings(strategy="local"))
    problem, before = NEW.problem(settings), OLD.active
    old = CASE.random(len(before.entities), 1, dtype=torch.float32)
    old.tables["entity"] *= 0.1  # so short that pairs pull hard
    model = carry_over(old, before, problem)
    phases = Phases(SilentListener())
    change = OLD.change_to(NEW)
    strategy("local")(UpdateTask(model, before, change, problem, phases, Cost()))
    length = torch.linalg.vector_norm(model.tables["entity"], dim=-1)
    concern = concern_of(change, problem, NOTHING_KEPT)
    staying = length[torch.from_numpy(~concern.moving.entities)]
    new = length[torch.from_numpy(concern.new)]
    assert new.max() <= 0.9 * staying.max() * 1.001


@pytest.mark.parametrize("name", sorted(MODELS))
def test_lengths_are_limited_where_they_make_triples_plausible(name: str) -> None:
    case = next(case for case in CASES if case.settings.name == name)
    amounts = amounts_for(NEW.problem(Settings(model=case.settings)))
    assert (amounts.longest is not None) == (name in {"distmult", "complex", "analogy"})
