"""What TransE alone promises."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
import torch

from kgsync.config import ModelSettings, Norm
from kgsync.models.transe import TransE

both_norms = pytest.mark.parametrize("norm", ["l1", "l2"])
every_norm = pytest.mark.parametrize("norm", get_args(Norm))


def _model(norm: Norm, entities: list[list[float]], relations: list[list[float]]) -> TransE:
    settings = ModelSettings(name="transe", dimension=len(entities[0]), norm=norm)
    return TransE(settings, {"entity": torch.tensor(entities), "relation": torch.tensor(relations)})


@every_norm
def test_a_perfect_translation_scores_zero_and_nothing_scores_more(norm: Norm) -> None:
    model = _model(norm, [[1.0, 2.0], [4.0, 1.0], [4.5, 1.0]], [[3.0, -1.0]])
    head, relation = model.rows("entity", slice(0, 1)), model.rows("relation", slice(0, 1))
    scores = model.score_tails(head, relation, model.rows("entity", slice(None)))[0]
    assert scores[1] == 0
    assert (scores <= 0).all()
    assert scores.argmax() == 1


@every_norm
def test_a_perfect_translation_has_a_finite_gradient(norm: Norm) -> None:
    model = _model(norm, [[1.0, 2.0], [4.0, 1.0]], [[3.0, -1.0]])
    for table in model.tables.values():
        table.requires_grad_()
    head, tail = model.rows("entity", torch.tensor([0])), model.rows("entity", torch.tensor([1]))
    torch.autograd.backward(model.score(head, model.rows("relation", torch.tensor([0])), tail))
    for table in model.tables.values():
        assert table.grad is not None
        assert torch.isfinite(table.grad).all()


@every_norm
def test_the_way_back_is_the_opposite_translation(norm: Norm) -> None:
    model = _model(norm, [[1.0, 2.0], [0.5, -1.0]], [[3.0, -1.0], [-3.0, 1.0]])
    first, second = model.rows("entity", slice(0, 1)), model.rows("entity", slice(1, 2))
    there, back = model.rows("relation", slice(0, 1)), model.rows("relation", slice(1, 2))
    assert torch.equal(model.score(first, there, second), model.score(second, back, first))
    assert not torch.equal(model.score(first, there, second), model.score(second, there, first))


@both_norms
def test_near_candidates_are_told_apart_far_from_the_origin(norm: Norm) -> None:
    """A distance by way of a matrix product would lose the small gap between large numbers."""
    model = _model(norm, [[1000.0] * 40, [1000.0] * 39 + [1000.001]], [[0.0] * 40])
    head, relation = model.rows("entity", slice(0, 1)), model.rows("relation", slice(0, 1))
    own, near = model.score_tails(head, relation, model.rows("entity", slice(None)))[0]
    assert own == 0
    assert -0.01 < near < 0


@pytest.mark.parametrize("margin", [0.25, 2.0])
def test_the_loss_takes_its_margin_from_the_settings(margin: float) -> None:
    model = _model("l1", [[0.0]], [[0.0]])
    model.settings = replace(model.settings, margin=margin)
    assert model.loss.of_batch(torch.zeros(4), torch.zeros(4)).item() == pytest.approx(4 * margin)
