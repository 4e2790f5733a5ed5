"""What a model declares as its symmetry: maps that change no score, and the nearest of them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.config import ModelSettings
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.models.parts.assignment import best_assignment
from kgsync.models.parts.symmetries import SameScores
from tests.models.cases import CASES, EVERY_CASE, ModelCase

ENTITIES, RELATIONS = 12, 9

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)


def _numbers(model: Model) -> dict[str, np.ndarray]:
    return {name: table.numpy() for name, table in model.tables.items()}


def _found(model: Model, like: Model) -> SameScores:
    symmetry = model.info.symmetry
    assert symmetry is not None
    return symmetry(model.settings, _numbers(model), _numbers(like))


def _mapped(model: Model, found: SameScores, like: Model) -> Model:
    tables = {}
    for name, table in _numbers(model).items():
        rows = found.maps[name].rows(table)
        if name in found.nearest:
            rows = found.nearest[name](rows, like.tables[name].numpy())
        tables[name] = torch.from_numpy(rows)
    return type(model)(model.settings, tables)


def _aligned(model: Model, like: Model) -> Model:
    return _mapped(model, _found(model, like), like)


def _all_scores(model: Model) -> torch.Tensor:
    triples = np.stack(np.meshgrid(range(ENTITIES), range(RELATIONS), range(ENTITIES))).reshape(
        3, -1
    )
    heads, relations, tails = torch.from_numpy(triples)
    return model.score(
        model.rows("entity", heads), model.rows("relation", relations), model.rows("entity", tails)
    )


def _distance(one: Model, other: Model) -> float:
    gaps = (one.tables[name] - other.tables[name] for name in ("entity", "relation"))
    return sum(float(gap.square().sum()) for gap in gaps)


@every_model
def test_all_scores_stay(case: ModelCase) -> None:
    for seed in range(5):
        new, old = (case.random(ENTITIES, RELATIONS, seed) for seed in (seed, seed + 100))
        aligned = _aligned(new, old)
        torch.testing.assert_close(_all_scores(aligned), _all_scores(new), rtol=1e-9, atol=1e-12)
        assert not torch.allclose(aligned.tables["entity"], new.tables["entity"])


@every_model
def test_vectors_come_nearer(case: ModelCase) -> None:
    for seed in range(5):
        new, old = (case.random(ENTITIES, RELATIONS, seed) for seed in (seed, seed + 100))
        before, after = _distance(new, old), _distance(_aligned(new, old), old)
        if case.settings.name == "rescal":  # whose entities decide
            gaps = (m.tables["entity"] - old.tables["entity"] for m in (new, _aligned(new, old)))
            before, after = (float(gap.square().sum()) for gap in gaps)
        assert after < before


@every_model
def test_a_planted_map_is_found(case: ModelCase) -> None:
    for seed in range(5):
        old, other = (case.random(ENTITIES, RELATIONS, seed) for seed in (seed, seed + 100))
        planted = _aligned(old, other)  # far from where it was, with the same scores
        assert _distance(planted, old) > 0.1
        found = _aligned(planted, old)
        for name, table in old.tables.items():
            torch.testing.assert_close(found.tables[name], table, rtol=1e-7, atol=1e-9)


@every_model
def test_no_other_map_of_the_family_leads_nearer(case: ModelCase) -> None:
    """The maps found for other pairs are members of the family, too."""
    new, old = (case.random(ENTITIES, RELATIONS, seed) for seed in (1, 2))
    kinds = ["entity"] if case.settings.name == "rescal" else ["entity", "relation"]

    def distance(model: Model) -> float:
        gaps = (model.tables[kind] - old.tables[kind] for kind in kinds)
        return sum(float(gap.square().sum()) for gap in gaps)

    best = distance(_aligned(new, old))
    for seed in range(10, 30):
        member = _found(new, case.random(ENTITIES, RELATIONS, seed))
        assert distance(_mapped(new, member, old)) >= best - 1e-12


@every_model
def test_sums_of_squares_keep_their_total(case: ModelCase) -> None:
    new, old = (case.random(ENTITIES, RELATIONS, seed) for seed in (1, 2))
    found = _found(new, old)
    for name, table in _numbers(new).items():
        sums = np.square(table)
        mapped = found.maps[name].squares(sums)
        assert mapped.shape == sums.shape
        assert (mapped >= 0).all()
        np.testing.assert_allclose(mapped.sum(1), sums.sum(1))


@pytest.mark.parametrize("norm", ["l1", "l2", "l2sq"])
@pytest.mark.parametrize("name", ["transe", "transh"])
def test_a_translation_of_all_entities_is_undone(name: str, norm: str) -> None:
    settings = ModelSettings(name, 4, norm=norm)  # type: ignore[arg-type]
    old = model_class(name).random(settings, ENTITIES, RELATIONS, torch.Generator().manual_seed(1))
    moved = {**old.tables, "entity": old.tables["entity"] + torch.arange(4)}
    new = model_class(name)(settings, moved)
    torch.testing.assert_close(_all_scores(new), _all_scores(old), rtol=1e-4, atol=1e-5)
    found = _aligned(new, old)
    torch.testing.assert_close(found.tables["entity"].float(), old.tables["entity"])


def test_phases_that_were_wound_up_are_unwound() -> None:
    case = next(case for case in CASES if case.settings.name == "rotate")
    old = case.random(ENTITIES, RELATIONS)
    turns = torch.from_numpy(np.random.default_rng(0).integers(-3, 4, old.tables["relation"].shape))
    wound = old.tables["relation"] + 2 * torch.pi * turns.double()
    new = type(old)(old.settings, {**old.tables, "relation": wound})
    torch.testing.assert_close(_aligned(new, old).tables["relation"], old.tables["relation"])


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_the_assignment_has_the_largest_gain(count: int, seed: int) -> None:
    gains = np.random.default_rng(seed).normal(size=(count, count)).round(1)  # with ties
    rows = np.arange(count)
    found = best_assignment(gains)
    assert sorted(found) == rows.tolist()
    best = max(gains[rows, list(columns)].sum() for columns in permutations(range(count)))
    assert gains[rows, found].sum() == pytest.approx(best)
