"""The rows of a new version: survivors keep their vectors, newcomers start."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.config import Settings, UpdateSettings
from kgsync.graph.active import Active
from kgsync.models.base import Kind, Model
from kgsync.training.initial.vectors import carry_over
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Triple, Version

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

# Entity 2 dies between its neighbours, 3 and 9 are born between and after; relation 1 gives
# way to 2.
OLD = Version(train=((0, 0, 2), (2, 1, 5), (5, 4, 7), (7, 0, 0)))
NEW = Version(train=((0, 0, 3), (3, 2, 5), (5, 4, 9), (7, 0, 0)))


def _settings(case: ModelCase, update: UpdateSettings | None = None) -> Settings:
    return Settings(model=case.settings, update=update or UpdateSettings())


def _old_model(case: ModelCase, version: Version) -> Model:
    active = version.active
    return case.random(len(active.entities), len(active.relations), dtype=torch.float32)


def _carried(case: ModelCase, model: Model, update: UpdateSettings | None = None) -> Model:
    return carry_over(model, OLD.active, NEW.problem(_settings(case, update)))


def _ids(active: Active, kind: Kind) -> list[int]:
    ids: list[int] = (active.entities if kind == "entity" else active.relations).tolist()
    return ids


@every_model
@pytest.mark.parametrize("start", ["average", "random"])
def test_survivors_keep_their_vectors_to_the_bit(case: ModelCase, start: str) -> None:
    update = UpdateSettings(initial_vectors="average" if start == "average" else "random")
    old = _old_model(case, OLD)
    new = _carried(case, old, update)
    assert new.sizes == {"entity": 5, "relation": 3}
    for name, spec in old.layout(old.settings).items():
        before, after = _ids(OLD.active, spec.kind), _ids(NEW.active, spec.kind)
        shared = [i for i in before if i in after]
        assert len(shared) >= 2
        for element in shared:
            was, now = before.index(element), after.index(element)
            assert torch.equal(new.tables[name][now], old.tables[name][was])


@every_model
def test_newcomers_start_from_the_mean_over_those_that_live_in_both_versions(
    case: ModelCase,
) -> None:
    old = _old_model(case, OLD)
    new = _carried(case, old)
    for name, spec in old.layout(old.settings).items():
        before, after = _ids(OLD.active, spec.kind), _ids(NEW.active, spec.kind)
        survivors = [before.index(i) for i in before if i in after]
        assert len(survivors) < len(before)  # the dead must not count
        mean = old.tables[name][survivors].mean(0)
        if spec.unit:
            mean = mean / mean.square().sum().sqrt()
        newcomers = [after.index(i) for i in after if i not in before]
        assert newcomers
        for row in newcomers:
            torch.testing.assert_close(new.tables[name][row], mean)


@every_model
def test_newcomers_start_at_random_if_asked_to(case: ModelCase) -> None:
    old = _old_model(case, OLD)
    new = _carried(case, old, UpdateSettings(initial_vectors="random"))
    for name, spec in old.layout(old.settings).items():
        before, after = _ids(OLD.active, spec.kind), _ids(NEW.active, spec.kind)
        bound = (6 / (len(after) + spec.width)) ** 0.5
        newcomers = new.tables[name][[after.index(i) for i in after if i not in before]]
        if spec.unit:
            torch.testing.assert_close(newcomers.square().sum(1), torch.ones(len(newcomers)))
        else:
            assert newcomers.abs().max() <= bound
        assert len(set(newcomers.sum(1).tolist())) == len(newcomers)


@every_model
def test_random_starts_repeat_with_the_seed(case: ModelCase) -> None:
    random = UpdateSettings(initial_vectors="random")
    old = _old_model(case, OLD)

    def entities(seed: int) -> torch.Tensor:
        problem = NEW.problem(_settings(case, random), seed=seed)
        return carry_over(old, OLD.active, problem).tables["entity"]

    assert torch.equal(entities(0), entities(0))
    assert not torch.equal(entities(0), entities(1))


@every_model
def test_without_survivors_newcomers_start_at_random(case: ModelCase) -> None:
    new = Version(train=((20, 0, 30), (30, 9, 40)))
    started = carry_over(_old_model(case, OLD), OLD.active, new.problem(_settings(case)))
    entities = started.tables["entity"]
    assert torch.isfinite(entities).all()
    assert len(set(entities.sum(1).tolist())) == 3


@every_model
def test_the_old_model_is_left_alone(case: ModelCase) -> None:
    old = _old_model(case, OLD)
    before = old.copy_tables()
    new = _carried(case, old)
    for table in new.tables.values():
        table.add_(1.0)
    for name, table in old.tables.items():
        assert torch.equal(table, before[name])


_triples = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 4), st.integers(0, 12)), min_size=1, max_size=12
)


@given(old=_triples, new=_triples)
@settings(deadline=None)
def test_rows_follow_ids_whoever_dies_and_is_born(old: list[Triple], new: list[Triple]) -> None:
    case = replace(CASES[0], settings=replace(CASES[0].settings, dimension=1))
    before, after = Version(train=tuple(old)), Version(train=tuple(new))
    model = _old_model(case, before)
    # Each element's vector is its own id, so a row in a wrong place shows.
    model.tables = {
        "entity": torch.tensor(_ids(before.active, "entity"), dtype=torch.float32)[:, None],
        "relation": torch.tensor(_ids(before.active, "relation"), dtype=torch.float32)[:, None],
    }
    started = carry_over(model, before.active, after.problem(_settings(case)))
    kinds: tuple[Kind, Kind] = ("entity", "relation")
    for kind in kinds:
        known = _ids(before.active, kind)
        for row, element in enumerate(_ids(after.active, kind)):
            if element in known:
                assert started.tables[kind][row].item() == element
