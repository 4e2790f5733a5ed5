"""The counters of work done."""

from __future__ import annotations

from kgsync.evaluation.cost import Cost


def test_costs_add_up() -> None:
    total = Cost()
    total.add(Cost(score_evaluations=3, gradient_steps=5))
    total.add(Cost(score_evaluations=4, gradient_steps=6))
    assert total == Cost(score_evaluations=7, gradient_steps=11)


def test_no_work_costs_nothing() -> None:
    assert Cost() == Cost(score_evaluations=0, gradient_steps=0)
