"""The losses of the paper and the L2 penalty, by numbers worked out by hand."""

from __future__ import annotations

from math import exp, log

import pytest
import torch

from kgsync.config import ModelSettings
from kgsync.models.distmult import DistMult
from kgsync.models.losses.logistic import LogisticLoss
from kgsync.models.losses.margin import MarginLoss


def test_margin_loss_is_summed_over_pairs() -> None:
    # The pairs cost 1 - 3 + 1 < 0, 1 - 0 + 0.5 and 1 - 2 + 1.5.
    positive, negative = torch.tensor([3.0, 0.0, 2.0]), torch.tensor([1.0, 0.5, 1.5])
    assert MarginLoss(1.0).of_batch(positive, negative).item() == pytest.approx(0 + 1.5 + 0.5)


def test_margin_loss_of_a_batch_twice_is_twice_the_loss() -> None:
    positive, negative = torch.tensor([0.0, 2.0]), torch.tensor([0.5, 1.5])
    once = MarginLoss(1.0).of_batch(positive, negative)
    twice = MarginLoss(1.0).of_batch(positive.repeat(2), negative.repeat(2))
    assert twice.item() == pytest.approx(2 * once.item())


def test_margin_loss_pairs_scores_instead_of_crossing_them() -> None:
    positive, negative = torch.tensor([10.0, 0.0]), torch.tensor([9.0, -1.0])
    assert MarginLoss(1.0).of_batch(positive, negative).item() == 0.0


@pytest.mark.parametrize("margin", [0.5, 4.0])
def test_margin_loss_uses_the_margin(margin: float) -> None:
    assert MarginLoss(margin).of_batch(torch.zeros(3), torch.zeros(3)).item() == pytest.approx(
        3 * margin
    )


def test_logistic_loss_is_averaged_over_all_scores() -> None:
    positive, negative = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])
    terms = [log(1 + exp(-1.0)), log(1 + exp(2.0)), log(1 + exp(0.5)), log(1 + exp(3.0))]
    assert LogisticLoss().of_batch(positive, negative).item() == pytest.approx(sum(terms) / 4)


def test_logistic_loss_of_a_batch_twice_is_the_same_loss() -> None:
    positive, negative = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])
    once = LogisticLoss().of_batch(positive, negative)
    twice = LogisticLoss().of_batch(positive.repeat(2), negative.repeat(2))
    assert twice.item() == pytest.approx(once.item())


def test_logistic_loss_of_extreme_scores_is_finite() -> None:
    wrong = LogisticLoss().of_batch(torch.tensor([-1000.0]), torch.tensor([1000.0]))
    right = LogisticLoss().of_batch(torch.tensor([1000.0]), torch.tensor([-1000.0]))
    assert wrong.item() == pytest.approx(1000.0)
    assert right.item() == 0.0


# Two owners with two and one triples; two draws for each, of which some were not possible.
TRUE, OWNER = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0, 0, 1])
FALSE = torch.tensor([[0.0, -1.0, 3.0], [0.5, 9.0, 9.0]])
POSSIBLE = torch.tensor([[True, True, False], [True, False, False]])


def test_each_owner_has_a_margin_loss_with_the_mean_of_false_scores_in_the_hinge() -> None:
    found = MarginLoss(1.0).by_owner(TRUE, FALSE, POSSIBLE, OWNER, 3)
    # 1 - 1 + 0.25 and 1 + 2 - 1; the second owner has no false triple, the third no triple.
    assert found.tolist() == pytest.approx([0.25 + 2.0, 0.0, 0.0])


def test_each_owner_has_a_logistic_loss_averaged_over_its_own_scores() -> None:
    found = LogisticLoss().by_owner(TRUE, FALSE, POSSIBLE, OWNER, 2)
    terms = [log(1 + exp(x)) for x in (-1.0, 0.0, 0.5, 2.0, -1.0)]
    assert found.tolist() == pytest.approx([sum(terms) / 5, log(1 + exp(-0.5))])


def test_l2_penalty_is_the_weighted_sum_of_three_means() -> None:
    model = DistMult(
        ModelSettings(name="distmult", dimension=2, l2_penalty=0.5),
        {"entity": torch.zeros(1, 2), "relation": torch.zeros(1, 2)},
    )
    head = {"entity": torch.tensor([[1.0, 2.0], [0.0, 1.0]])}  # mean of squares 6 / 4
    relation = {"relation": torch.tensor([[2.0, 0.0], [2.0, 0.0]])}  # 8 / 4
    tail = {"entity": torch.tensor([[3.0, 1.0], [1.0, 1.0]])}  # 12 / 4
    penalty = model.penalty(head, relation, tail)
    assert penalty is not None
    assert penalty.item() == pytest.approx(0.5 * (1.5 + 2.0 + 3.0))
