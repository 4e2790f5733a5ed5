"""What holds for every scoring model, run over the table in `cases`."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from kgsync.config import ModelSettings, Norm
from kgsync.models import MODELS, model_class
from kgsync.models.base import Model, Rows
from tests.models.cases import CASES, EVERY_CASE, ModelCase, vectors

ENTITIES, RELATIONS, PAIRS = 6, 3, 5

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)


def test_every_registered_model_is_in_the_table() -> None:
    assert {case.settings.name for case in CASES} == set(MODELS)


def test_transe_is_in_the_table_with_every_norm() -> None:
    norms = {case.settings.norm for case in CASES if case.settings.name == "transe"}
    assert norms == set(get_args(Norm))


def test_transd_is_in_the_table_with_narrow_equal_and_wide_relations() -> None:
    chosen = [case.settings for case in CASES if case.settings.name == "transd"]
    widths = {(s.relation_dimension or s.dimension) - s.dimension for s in chosen}
    assert {np.sign(width) for width in widths} == {-1, 0, 1}


def _triples(model: Model, count: int, seed: int) -> tuple[Rows, Rows, Rows]:
    sizes, generator = model.sizes, torch.Generator().manual_seed(seed)
    heads, tails = torch.randint(sizes["entity"], (2, count), generator=generator)
    relations = torch.randint(sizes["relation"], (count,), generator=generator)
    return (
        model.rows("entity", heads),
        model.rows("relation", relations),
        model.rows("entity", tails),
    )


@every_model
def test_score_is_the_formula(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    head, relation, tail = _triples(model, 12, seed=1)
    expected = [
        case.score(vectors(head, i), vectors(relation, i), vectors(tail, i)) for i in range(12)
    ]
    np.testing.assert_allclose(model.score(head, relation, tail).numpy(), expected, rtol=1e-12)


@every_model
def test_scores_of_all_tails_agree_with_single_scores(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    head, relation, _ = _triples(model, 4, seed=2)
    everyone = model.rows("entity", slice(None))
    scores = model.score_tails(head, relation, everyone)
    assert scores.shape == (4, ENTITIES)
    for entity in range(ENTITIES):
        tail = model.rows("entity", torch.full((4,), entity))
        torch.testing.assert_close(scores[:, entity], model.score(head, relation, tail))


@every_model
def test_scores_of_all_heads_agree_with_single_scores(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    _, relation, tail = _triples(model, 4, seed=3)
    everyone = model.rows("entity", slice(None))
    scores = model.score_heads(tail, relation, everyone)
    assert scores.shape == (4, ENTITIES)
    for entity in range(ENTITIES):
        head = model.rows("entity", torch.full((4,), entity))
        torch.testing.assert_close(scores[:, entity], model.score(head, relation, tail))


@every_model
def test_candidates_may_be_a_part_of_the_entities(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    head, relation, tail = _triples(model, 4, seed=4)
    some, everyone = torch.tensor([4, 1]), slice(None)
    tails = model.score_tails(head, relation, model.rows("entity", everyone))
    heads = model.score_heads(tail, relation, model.rows("entity", everyone))
    candidates = model.rows("entity", some)
    torch.testing.assert_close(model.score_tails(head, relation, candidates), tails[:, some])
    torch.testing.assert_close(model.score_heads(tail, relation, candidates), heads[:, some])


@every_model
def test_candidates_with_equal_vectors_get_equal_scores(case: ModelCase) -> None:
    model = case.random(1000, RELATIONS, dtype=torch.float32)
    twins = torch.arange(0, 1000, 7)
    for name in model.names("entity"):
        model.tables[name][twins] = model.tables[name][500].clone()
    head, relation, tail = _triples(model, 30, seed=8)
    everyone = model.rows("entity", slice(None))
    for scores in (
        model.score_tails(head, relation, everyone),
        model.score_heads(tail, relation, everyone),
    ):
        assert torch.equal(scores[:, twins], scores[:, 500:501].expand(-1, len(twins)))
        assert len(torch.unique(scores)) > 1000


@every_model
def test_scores_of_a_query_do_not_depend_on_the_others(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    head, relation, tail = _triples(model, 9, seed=9)
    everyone = model.rows("entity", slice(None))
    tails = model.score_tails(head, relation, everyone)
    heads = model.score_heads(tail, relation, everyone)
    for i in range(9):
        h, r, t = (
            {name: rows[i : i + 1] for name, rows in part.items()}
            for part in (head, relation, tail)
        )
        torch.testing.assert_close(model.score_tails(h, r, everyone), tails[i : i + 1])
        torch.testing.assert_close(model.score_heads(t, r, everyone), heads[i : i + 1])


def _some(rows: Rows, which: Tensor) -> Rows:
    return {name: table[which] for name, table in rows.items()}


@every_model
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_score_is_the_same_to_the_bit_whatever_is_computed_with_it(
    case: ModelCase, dtype: torch.dtype
) -> None:
    """So that ranks can be carried over: only some candidates are scored again."""
    model = case.random(700, 40, dtype=dtype)
    head, relation, tail = _triples(model, 90, seed=10)
    everyone = model.rows("entity", slice(None))
    whole = {
        "tails": model.score_tails(head, relation, everyone),
        "heads": model.score_heads(tail, relation, everyone),
    }
    by_columns = {name: table.T.contiguous().T for name, table in everyone.items()}
    assert torch.equal(model.score_tails(head, relation, by_columns), whole["tails"])
    generator = torch.Generator().manual_seed(11)
    for queries, candidates in ((1, 1), (1, 700), (2, 3), (3, 257), (17, 30), (64, 511), (90, 1)):
        asked = torch.randperm(90, generator=generator)[:queries]
        among = torch.randperm(700, generator=generator)[:candidates]
        some = _some(everyone, among)
        tails = model.score_tails(_some(head, asked), _some(relation, asked), some)
        heads = model.score_heads(_some(tail, asked), _some(relation, asked), some)
        assert torch.equal(tails, whole["tails"][asked][:, among])
        assert torch.equal(heads, whole["heads"][asked][:, among])


@every_model
def test_swapping_head_and_tail_matters_unless_the_model_is_symmetric(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    relation = model.rows("relation", torch.tensor([0]))
    first, second = (model.rows("entity", torch.tensor([i])) for i in (0, 1))
    there, back = model.score(first, relation, second), model.score(second, relation, first)
    assert torch.allclose(there, back) is case.symmetric


@every_model
def test_loss_is_the_formula(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    true = torch.tensor([-3.0, 0.2, 5.0, 0.0], dtype=torch.float64)
    false = torch.tensor([-1.0, -2.5, 0.5, 0.0], dtype=torch.float64)
    expected = case.loss(true.tolist(), false.tolist(), case.settings)
    assert model.loss.of_batch(true, false).item() == pytest.approx(expected, rel=1e-12)


@every_model
def test_penalty_is_the_formula(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    head, relation, tail = _triples(model, 2 * PAIRS, seed=5)
    penalty = model.penalty(head, relation, tail)
    if case.penalty is None:
        assert penalty is None
        return
    triples = [(vectors(head, i), vectors(relation, i), vectors(tail, i)) for i in range(2 * PAIRS)]
    assert penalty is not None
    assert penalty.item() == pytest.approx(case.penalty(triples, case.settings), rel=1e-12)


@every_model
def test_constraint_is_the_formula(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    for name in model.names("relation"):
        model.tables[name][0] *= 3.0  # lengths must not matter
    relations = model.rows("relation", slice(None))
    constraint = model.constraint(relations)
    if case.constraint is None:
        assert constraint is None
        return
    expected = case.constraint([vectors(relations, i) for i in range(RELATIONS)])
    assert expected > 0
    assert constraint is not None
    assert constraint.item() == pytest.approx(expected, rel=1e-12)


def _objective(model: Model) -> Tensor:
    """Loss, penalty and constraint of a batch in which entities and relations repeat."""
    head, relation, tail = _triples(model, 2 * PAIRS, seed=6)
    scores = model.score(head, relation, tail)
    loss = model.loss.of_batch(scores[:PAIRS], scores[PAIRS:])
    penalties = (
        model.penalty(head, relation, tail),
        model.constraint(model.rows("relation", torch.arange(RELATIONS))),
    )
    return sum((penalty for penalty in penalties if penalty is not None), start=loss)


@every_model
def test_gradient_is_the_slope_of_loss_penalty_and_constraint(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    for table in model.tables.values():
        table.requires_grad_()
    torch.autograd.backward(_objective(model))
    gradients = {name: table.grad for name, table in model.tables.items()}
    step = 1e-6
    with torch.no_grad():
        for name, table in model.tables.items():
            slopes = torch.zeros_like(table)
            for at in np.ndindex(*table.shape):
                here = table[at].item()
                table[at] = here + step
                above = _objective(model)
                table[at] = here - step
                slopes[at] = (above - _objective(model)) / (2 * step)
                table[at] = here
            gradient = gradients[name]
            assert gradient is not None
            assert gradient.abs().max() > 0
            torch.testing.assert_close(gradient, slopes, rtol=1e-6, atol=1e-8)


@every_model
def test_initial_vectors_fill_the_xavier_range(case: ModelCase) -> None:
    wide = 10 * case.settings.relation_dimension
    settings = replace(case.settings, dimension=20, relation_dimension=wide)
    chosen = model_class(settings.name)
    model = chosen.random(settings, 400, 30, torch.Generator().manual_seed(0))
    for name, spec in chosen.layout(settings).items():
        table = model.tables[name]
        count = {"entity": 400, "relation": 30}[spec.kind]
        bound = (6 / (count + spec.width)) ** 0.5
        assert table.shape == (count, spec.width)
        assert table.dtype == torch.float32
        if spec.unit:
            torch.testing.assert_close(table.square().sum(1), torch.ones(count))
            continue
        assert 0.95 * bound < table.max() <= bound
        assert -bound <= table.min() < -0.95 * bound
        # A uniform variable on (-b, b) has variance b² / 3.
        assert table.var().item() == pytest.approx(bound**2 / 3, rel=0.15)
        assert abs(table.mean().item()) < 0.1 * bound


@every_model
def test_initial_vectors_depend_on_the_generator_alone(case: ModelCase) -> None:
    first, again, other = (case.random(ENTITIES, RELATIONS, seed) for seed in (1, 1, 2))
    for name, table in first.tables.items():
        assert torch.equal(table, again.tables[name])
        assert not torch.equal(table, other.tables[name])


@every_model
def test_training_defaults_are_those_of_the_paper(case: ModelCase) -> None:
    defaults = MODELS[case.settings.name]
    assert defaults.optimizer == case.optimizer
    assert defaults.learning_rate == case.learning_rate
    assert ModelSettings(case.settings.name).dimension == case.dimension


@every_model
def test_layout_has_the_published_tables(case: ModelCase) -> None:
    layout = model_class(case.settings.name).layout(case.settings)
    assert layout["entity"].kind == "entity"
    assert layout["relation"].kind == "relation"
    assert layout["entity"].width == case.settings.dimension


@every_model
def test_rows_are_gathered_in_the_order_asked_for(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    assert model.sizes == {"entity": ENTITIES, "relation": RELATIONS}
    for name, rows in model.rows("entity", torch.tensor([3, 0, 3])).items():
        for at, row in enumerate((3, 0, 3)):
            assert torch.equal(rows[at], model.tables[name][row])


@every_model
def test_a_copy_of_the_tables_does_not_follow_the_model(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    copy = model.copy_tables()
    for table in model.tables.values():
        table.add_(1)
    for name, table in model.tables.items():
        torch.testing.assert_close(copy[name] + 1, table)


def test_settings_name_the_paper_defaults() -> None:
    settings = ModelSettings()
    assert (settings.dimension, settings.norm) == (100, "l1")
    assert (settings.margin, settings.l2_penalty) == (1.0, 0.02)


@every_model
def test_a_model_is_made_shorter_where_it_scales(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    before, layout = model.copy_tables(), model.layout(model.settings)
    entities, relations = torch.arange(ENTITIES) < 2, torch.arange(RELATIONS) < 1
    model.shrink(0.5, entities, relations)
    for name, table in model.tables.items():
        chosen = entities if layout[name].kind == "entity" else relations
        left = 0.5 if layout[name].scales else 1
        torch.testing.assert_close(table[chosen], before[name][chosen] * left)
        assert torch.equal(table[~chosen], before[name][~chosen])


@every_model
def test_a_shorter_model_ranks_all_answers_as_before(case: ModelCase) -> None:
    model = case.random(40, RELATIONS)
    head, relation, tail = _triples(model, 8, seed=4)
    everyone = model.rows("entity", slice(None))
    tails = model.score_tails(head, relation, everyone).argsort(dim=1)
    heads = model.score_heads(tail, relation, everyone).argsort(dim=1)
    model.shrink(0.5, torch.ones(40, dtype=torch.bool), torch.ones(RELATIONS, dtype=torch.bool))
    head, relation, tail = _triples(model, 8, seed=4)
    everyone = model.rows("entity", slice(None))
    assert torch.equal(model.score_tails(head, relation, everyone).argsort(dim=1), tails)
    assert torch.equal(model.score_heads(tail, relation, everyone).argsort(dim=1), heads)
