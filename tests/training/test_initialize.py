"""Start vectors end to end: who gets one, from what, in which order, and at what cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.common.cost import Cost
from kgsync.config import InitialVectors, ModelSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.errors import ConfigError
from kgsync.graph.active import Active
from kgsync.graph.terms import TermIndex
from kgsync.models import MODELS, model_class
from kgsync.models.base import Model
from kgsync.models.parts.translational import Translational
from kgsync.training.initial.closed_forms import place
from kgsync.training.initial.evidence import KeyedNegatives
from kgsync.training.initial.vectors import carry_over, initialize
from kgsync.training.problem import Problem
from kgsync.training.torch_backend.pretraining import Pretrainer, PretrainingRates
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Triple, Version, as_triples, ring, snapshot
from tests.training.newcomers import evidence
from tests.training.slow_order import slow_order

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

# New entities: 20 and 21 hang on old ones, 22 on both, 23 on 22 by the new relation 3, which 20
# and an old entity also have; 24 and 25 know only each other, 26 is in a held-out triple only.
BASE = ring(10, 1, 3, 4)
OLD = Version(train=BASE)
ADDED: tuple[Triple, ...] = (
    *((0, 0, 20), (20, 1, 4), (5, 2, 20), (21, 0, 7), (1, 1, 21)),
    *((20, 0, 22), (22, 2, 21), (22, 0, 22), (22, 3, 23), (20, 3, 8), (9, 3, 9)),
    *((24, 0, 25), (25, 4, 24)),
)
NEW = Version(train=(*BASE, *ADDED), validation=((26, 0, 1),))
UNPLACED = {"entity": [24, 25, 26], "relation": [4]}
BRIEF = UpdateSettings(pretraining_epochs=6, pretraining_learning_rate=0.05)


def _settings(case: ModelCase, update: UpdateSettings = BRIEF) -> Settings:
    return Settings(model=case.settings, update=update)


def _old_model(case: ModelCase) -> Model:
    active = OLD.active
    return case.random(len(active.entities), len(active.relations), dtype=torch.float32)


def _ids(active: Active) -> dict[str, list[int]]:
    return {"entity": active.entities.tolist(), "relation": active.relations.tolist()}


def _initialized(
    case: ModelCase, update: UpdateSettings = BRIEF, seed: int = 0, new: Version = NEW
) -> tuple[Model, Model, Cost]:
    """The model before and after, and what it cost."""
    problem = new.problem(_settings(case, update), seed=seed)
    before = carry_over(_old_model(case), OLD.active, problem)
    after = type(before)(before.settings, before.copy_tables())
    cost = Cost()
    initialize(after, OLD.active, problem, cost)
    return before, after, cost


@every_model
def test_only_new_elements_with_evidence_move(case: ModelCase) -> None:
    before, after, _ = _initialized(case)
    old, new = _ids(OLD.active), _ids(NEW.active)
    for name, spec in before.layout(before.settings).items():
        changed = (after.tables[name] != before.tables[name]).any(dim=1).nonzero().flatten()
        moved = {new[spec.kind][row] for row in changed.tolist()}
        assert moved
        assert moved.isdisjoint(old[spec.kind])
        assert moved.isdisjoint(UNPLACED[spec.kind])


@pytest.mark.parametrize("start", ["best", "balance", "jumps"])
@pytest.mark.parametrize("case", EVERY_CASE[:5], ids=lambda case: case.name)
def test_closed_forms_move_only_new_elements_with_evidence(
    case: ModelCase, start: InitialVectors
) -> None:
    update = UpdateSettings(start, pretraining_epochs=0)
    before, after, cost = _initialized(case, update)
    active = NEW.active
    for name, table in after.tables.items():
        changed = (table != before.tables[name]).any(dim=1).nonzero().flatten().tolist()
        if name == "entity":
            assert active.entities[changed].tolist() == [20, 21, 22, 23]
        elif name == "relation" and case.settings.name == "transe":
            assert active.relations[changed].tolist() == [3]
        else:
            assert changed == []
    assert cost == Cost()


def _one_by_one(case: ModelCase, model: Model, problem: Problem) -> Cost:
    """Alg. TDSM_init with one element after the other."""
    update, active, cost = problem.settings.update, problem.active, Cost()
    survivors = np.flatnonzero(np.isin(active.entities, OLD.active.entities))
    seeds = (problem.seeds.number(phase) for phase in ("places", "pre-training"))
    place_draws, train_draws = (
        KeyedNegatives(problem.train, survivors, problem.hashes, seed) for seed in seeds
    )
    rate = update.pretraining_learning_rate or case.learning_rate
    rates = PretrainingRates(update.pretraining_epochs, update.pretraining_negatives, rate)
    new_entities = np.flatnonzero(~np.isin(active.entities, OLD.active.entities)).tolist()
    new_relations = np.flatnonzero(~np.isin(active.relations, OLD.active.relations)).tolist()
    train = as_triples(problem.train)
    for kind, row, triples in slow_order(train, new_entities, new_relations):
        if triples:
            given = evidence(kind, {row: [triple for triple in train if triple in triples]})
            if update.initial_vectors not in ("average", "random"):
                assert isinstance(model, Translational)
                place(model, given, place_draws, update)
            Pretrainer(model, train_draws, rates, cost).train(given)
    return cost


@every_model
def test_depth_by_depth_is_the_same_as_one_by_one(case: ModelCase) -> None:
    starts: list[InitialVectors] = ["average", "random"]
    if case.settings.name in ("transe", "transh"):
        starts += ["best", "balance", "jumps"]
    for start in starts:
        update = replace(BRIEF, initial_vectors=start, pretraining_negatives=2)
        # With L1, the last bit of a sum may decide on a step; with this seed it never does.
        before, after, cost = _initialized(case, update, seed=1)
        problem = NEW.problem(_settings(case, update), seed=1)
        expected_cost = _one_by_one(case, before, problem)
        for name, table in after.tables.items():
            torch.testing.assert_close(table, before.tables[name], rtol=1e-4, atol=1e-5)
        assert cost == expected_cost


@every_model
def test_the_same_seed_gives_the_same_vectors(case: ModelCase) -> None:
    first, again, other = (_initialized(case, seed=seed)[1] for seed in (0, 0, 1))
    for name, table in first.tables.items():
        assert torch.equal(table, again.tables[name])
        assert not torch.equal(table, other.tables[name])


@every_model
def test_an_element_starts_alike_whoever_else_is_born(case: ModelCase) -> None:
    """Entity 21 hangs on old ones alone, and its random numbers are its own."""
    _, crowded, _ = _initialized(case)
    alone = Version(train=tuple(t for t in NEW.train if all(e < 20 or e == 21 for e in t[::2])))
    _, lonely, _ = _initialized(case, new=alone)
    at, there = (_ids(version.active)["entity"].index(21) for version in (NEW, alone))
    for name in crowded.names("entity"):
        torch.testing.assert_close(crowded.tables[name][at], lonely.tables[name][there])


def test_ties_go_by_iri_even_if_ids_do_not() -> None:
    """Entity z had an id before b was known; b still comes first, and z is placed beside it."""
    terms = TermIndex().extended(pa.array(["m", "z"]), pa.array(["r"]))
    terms = terms.extended(pa.array(["b"]), pa.array(["r"]))
    m, z, b = 0, 1, 2
    before = Active.of(snapshot([(m, 0, m)]))
    chosen = Settings(
        model=ModelSettings("transe", 1), update=UpdateSettings("best", pretraining_epochs=0)
    )
    new = Version(train=((m, 0, m), (m, 0, z), (m, 0, b), (z, 0, b)))
    problem = replace(new.problem(chosen), terms=terms)
    tables = {"entity": torch.tensor([[5.0]]), "relation": torch.tensor([[1.0]])}
    model = carry_over(model_class("transe")(chosen.model, tables), before, problem)
    initialize(model, before, problem, Cost())
    # b = m + r = 6; z is at m + r = 6 and at b - r = 5.
    assert model.tables["entity"].flatten().tolist() == [5.0, 5.5, 6.0]


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=lambda case: case.name)
def test_the_rate_is_its_own_or_that_of_training(case: ModelCase) -> None:
    def tables(own: float | None, training: float | None) -> torch.Tensor:
        update = UpdateSettings(pretraining_epochs=6, pretraining_learning_rate=own)
        chosen = replace(_settings(case, update), training=TrainingSettings(learning_rate=training))
        problem = NEW.problem(chosen)
        model = carry_over(_old_model(case), OLD.active, problem)
        initialize(model, OLD.active, problem, Cost())
        return model.tables["entity"]

    default = tables(None, None)
    assert torch.equal(default, tables(case.learning_rate, None))
    assert torch.equal(default, tables(None, case.learning_rate))
    assert torch.equal(default, tables(case.learning_rate, 7.0))
    assert not torch.equal(default, tables(None, 7.0))


@every_model
def test_without_pretraining_average_and_random_starts_stay(case: ModelCase) -> None:
    starts: tuple[InitialVectors, ...] = ("average", "random")
    for start in starts:
        before, after, cost = _initialized(case, UpdateSettings(start, pretraining_epochs=0))
        for name, table in after.tables.items():
            assert torch.equal(table, before.tables[name])
        assert cost == Cost()


def test_every_depth_is_told() -> None:
    problem = NEW.problem(_settings(CASES[0]))
    model = carry_over(_old_model(CASES[0]), OLD.active, problem)
    told: list[tuple[str, int, int]] = []
    initialize(model, OLD.active, problem, Cost(), lambda *step: told.append(step))
    # 20, 21 and relation 3 (by its self-loop on 9); 22; 23.
    assert told == [("initial vectors", depth, 3) for depth in (1, 2, 3)]


def test_nothing_new_needs_nothing() -> None:
    problem = OLD.problem(_settings(CASES[0]))
    model = carry_over(_old_model(CASES[0]), OLD.active, problem)
    cost = Cost()
    initialize(model, OLD.active, problem, cost)
    assert torch.equal(model.tables["entity"], _old_model(CASES[0]).tables["entity"])
    assert cost == Cost()


@every_model
def test_without_survivors_new_elements_keep_their_random_start(case: ModelCase) -> None:
    """No triple is informative where everything is new."""
    new = Version(train=((50, 7, 51), (51, 8, 50), (50, 7, 50)))
    before, after, cost = _initialized(case, new=new)
    for name, table in after.tables.items():
        assert torch.equal(table, before.tables[name])
    assert cost == Cost()


@pytest.mark.parametrize("start", ["best", "balance", "jumps"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_closed_forms_are_for_transe_and_transh_only(name: str, start: InitialVectors) -> None:
    model, update = ModelSettings(name), UpdateSettings(start)
    if name in ("transe", "transh"):
        assert Settings(model=model, update=update).update.initial_vectors == start
    else:
        with pytest.raises(
            ConfigError, match=f"{name} supports only initial_vectors 'average' and 'random'"
        ):
            Settings(model=model, update=update)


@pytest.mark.parametrize(
    "update",
    [
        UpdateSettings(initial_negatives=-1),
        UpdateSettings(jump_rounds=-1),
        UpdateSettings(jump_size=0.0),
        UpdateSettings(pretraining_epochs=-1),
        UpdateSettings(pretraining_negatives=0),
        UpdateSettings(pretraining_learning_rate=0.0),
    ],
)
def test_settings_that_make_no_sense_are_errors(update: UpdateSettings) -> None:
    with pytest.raises(ConfigError, match=r"\[update\]"):
        Settings(update=update)


_triples = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9)),
    min_size=1,
    max_size=30,
    unique=True,
)


@pytest.mark.parametrize("chosen", ["transe", "transh", "complex"])
@given(old=_triples, new=_triples, times=st.integers(1, 4), negatives=st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_costs_stay_within_the_bounds_of_the_theorems(
    chosen: str, old: list[Triple], new: list[Triple], times: int, negatives: int
) -> None:
    case = next(case for case in CASES if case.settings.name == chosen)
    before, after = (
        Version(
            train=tuple(triple for triple in some if sum(triple) % 4),
            validation=tuple(triple for triple in some if not sum(triple) % 4),
        )
        for some in (old, new)
    )
    update = UpdateSettings(pretraining_epochs=times, pretraining_negatives=negatives)
    problem = after.problem(_settings(case, update))
    active = before.active
    model = case.random(len(active.entities), len(active.relations), dtype=torch.float32)
    started, cost = carry_over(model, active, problem), Cost()
    initialize(started, active, problem, cost)
    change = before.change_to(after)
    elements = len(change.added_entities) + len(change.added_relations)
    added = len(set(after.train) - set(before.train))
    assert cost.score_evaluations <= times * 3 * added * (1 + negatives)
    assert cost.gradient_steps <= times * elements
    for table in started.tables.values():
        assert torch.isfinite(table).all()
