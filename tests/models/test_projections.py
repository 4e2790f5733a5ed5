"""What TransH and TransD promise beyond TransE."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from torch import Tensor

from kgsync.config import ModelSettings
from kgsync.models.transd import TransD
from kgsync.models.transh import TransH


def _one(**tables: list[float]) -> dict[str, Tensor]:
    return {name: torch.tensor([numbers], dtype=torch.float64) for name, numbers in tables.items()}


def _transh(width: int) -> TransH:
    settings = ModelSettings("transh", width, norm="l2sq")
    return TransH(settings, _one(entity=[0.0], relation=[0.0], normal=[1.0]))


def _transd(width: int, relation_width: int) -> TransD:
    settings = ModelSettings("transd", width, relation_width)
    return TransD(settings, _one(entity=[0.0], relation=[0.0]))


def test_transh_looks_at_entities_along_the_normal() -> None:
    """(1, 2, 3) and (1, 5, -7) fall together on the plane across (0, 3, -10) - and only there."""
    first, second = _one(entity=[1.0, 2.0, 3.0]), _one(entity=[1.0, 5.0, -7.0])
    flat = _one(relation=[0.0, 0.0, 0.0], normal=[0.0, 3.0, -10.0])
    other = _one(relation=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0])
    model = _transh(3)
    assert model.score(first, flat, second).item() == pytest.approx(0.0, abs=1e-24)
    assert model.score(first, other, second).item() == pytest.approx(-9.0)


def test_transh_projections_lie_on_the_hyperplane() -> None:
    relation = _one(relation=[0.0, 0.0], normal=[3.0, 4.0])
    projected = _transh(2).project(_one(entity=[1.0, 1.0]), relation)[0]
    # (1, 1) - (1.4) · (0.6, 0.8)
    torch.testing.assert_close(projected, torch.tensor([0.16, -0.12], dtype=torch.float64))


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [
        (1.0, (1 - 1e-6) / 64),
        (-0.5, (0.25 - 1e-6) / 64),
        (2e-3, 3e-6 / 64),
        (1e-3 * (1 - 1e-6), 0.0),
        (0.0, 0.0),
    ],
)
def test_transh_tolerates_a_translation_just_off_its_hyperplane(
    cosine: float, expected: float
) -> None:
    relation = _one(relation=[3 * cosine, 3 * sqrt(1 - cosine**2)], normal=[2.0, 0.0])
    constraint = _transh(2).constraint(relation)
    assert constraint is not None
    assert constraint.item() == pytest.approx(expected, rel=1e-6, abs=1e-18)


def test_transh_sums_its_constraint_over_relations() -> None:
    twice = {
        "relation": torch.tensor([[1.0, 0.0], [5.0, 0.0]], dtype=torch.float64),
        "normal": torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64),
    }
    constraint = _transh(2).constraint(twice)
    assert constraint is not None
    assert constraint.item() == pytest.approx(2 * (1 - 1e-6) / 64)


def test_transh_normals_are_brought_to_length_one_where_they_are() -> None:
    settings = ModelSettings("transh", 2)
    normals = torch.tensor([[3.0, 4.0], [0.6, 0.8], [-1e-3, 0.0]])
    tables = {"entity": torch.ones(1, 2), "relation": torch.full((3, 2), 7.0), "normal": normals}
    TransH(settings, tables).normalize()
    torch.testing.assert_close(normals, torch.tensor([[0.6, 0.8], [0.6, 0.8], [-1.0, 0.0]]))
    assert (tables["relation"] == 7.0).all()


def test_bringing_normals_to_length_one_again_changes_no_bit() -> None:
    settings = ModelSettings("transh", 100)
    model = TransH.random(settings, 1, 500, torch.Generator().manual_seed(0))
    before = model.tables["normal"].clone()
    model.normalize()
    assert torch.equal(model.tables["normal"], before)


def test_transd_cuts_entities_for_narrow_relations() -> None:
    entity = _one(entity=[3.0, 4.0, 100.0], entity_projection=[0.0, 0.0, 0.0])
    relation = _one(relation=[0.0, 0.0], relation_projection=[9.0, 9.0])
    projected = _transd(3, 2).project(entity, relation)[0]
    torch.testing.assert_close(projected, torch.tensor([0.6, 0.8], dtype=torch.float64))


def test_transd_pads_entities_for_wide_relations() -> None:
    entity = _one(entity=[1.0, 2.0], entity_projection=[1.0, 0.5])  # e_p · e = 2
    relation = _one(relation=[0.0, 0.0, 0.0], relation_projection=[1.0, 0.0, -1.0])
    projected = _transd(2, 3).project(entity, relation)[0]
    expected = torch.tensor([3.0, 2.0, -2.0], dtype=torch.float64) / sqrt(17)
    torch.testing.assert_close(projected, expected)


def test_transd_without_projections_compares_directions() -> None:
    head = _one(entity=[3.0, 0.0], entity_projection=[1.0, 1.0])
    tail = _one(entity=[0.0, -0.2], entity_projection=[5.0, 5.0])
    relation = _one(relation=[-1.0, -1.0], relation_projection=[0.0, 0.0])
    assert _transd(2, 2).score(head, relation, tail).item() == pytest.approx(0.0)
