"""What the semantic matching models promise about swapping head and tail, and their widths."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from kgsync.config import ModelSettings, Settings
from kgsync.errors import ConfigError
from kgsync.models import MODELS, model_class
from kgsync.models.base import Model

WIDTH = 8


def _both_ways(name: str, relation: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of random pairs, there and back."""
    generator = torch.Generator().manual_seed(1)
    first, second = torch.randn(2, 20, WIDTH, generator=generator, dtype=torch.float64)
    settings = ModelSettings(name, WIDTH)
    model: Model = model_class(name)(settings, {"entity": first, "relation": relation})
    rows = {"relation": relation.expand(20, -1)}
    one, other = {"entity": first}, {"entity": second}
    return model.score(one, rows, other), model.score(other, rows, one)


def _numbers(width: int) -> Tensor:
    return torch.randn(width, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def _masked(start: int, end: int) -> Tensor:
    """A relation with numbers in a stretch and zeros around it."""
    numbers, mask = _numbers(WIDTH), torch.zeros(WIDTH, dtype=torch.float64)
    mask[start:end] = 1.0
    return numbers * mask


SYMMETRIC = [
    pytest.param("distmult", _numbers(WIDTH), id="distmult"),
    pytest.param("analogy", _masked(0, 4), id="analogy, scalars"),
    pytest.param("analogy", _masked(0, 6), id="analogy, scalars and real parts"),
    pytest.param("complex", _masked(0, 4), id="complex, real parts"),
]
ANTISYMMETRIC = [
    pytest.param("analogy", _masked(6, 8), id="analogy, imaginary parts"),
    pytest.param("complex", _masked(4, 8), id="complex, imaginary parts"),
]


@pytest.mark.parametrize(("name", "relation"), SYMMETRIC)
def test_real_relations_are_symmetric(name: str, relation: Tensor) -> None:
    there, back = _both_ways(name, relation)
    torch.testing.assert_close(there, back)
    assert there.abs().min() > 0


@pytest.mark.parametrize(("name", "relation"), ANTISYMMETRIC)
def test_imaginary_relations_are_antisymmetric(name: str, relation: Tensor) -> None:
    there, back = _both_ways(name, relation)
    torch.testing.assert_close(there, -back)
    assert there.abs().min() > 0


@pytest.mark.parametrize("name", ["analogy", "complex", "rescal"])
def test_relations_are_neither_in_general(name: str) -> None:
    width = WIDTH**2 if name == "rescal" else WIDTH
    there, back = _both_ways(name, _numbers(width))
    assert ((there - back).abs() > 1e-3).all()
    assert ((there + back).abs() > 1e-3).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_rescal_relation_is_as_symmetric_as_its_matrix(sign: float) -> None:
    matrix = _numbers(WIDTH**2).view(WIDTH, WIDTH)
    there, back = _both_ways("rescal", (matrix + sign * matrix.T).reshape(-1))
    torch.testing.assert_close(there, sign * back)
    assert there.abs().min() > 0


def _matrix(name: str, relation: Tensor) -> np.ndarray:
    """M of hᵀ M t, entry by entry, from scores of unit vectors."""
    unit = torch.eye(WIDTH, dtype=torch.float64)
    model = model_class(name)(ModelSettings(name, WIDTH), {"entity": unit, "relation": unit})
    rows = {"relation": relation.expand(WIDTH, -1)}
    return model.score_tails({"entity": unit}, rows, {"entity": unit}).numpy()


@pytest.mark.parametrize("name", ["analogy", "complex"])
def test_matrices_are_normal_and_commute(name: str) -> None:
    first, second = (_matrix(name, torch.roll(_numbers(WIDTH), by)) for by in (0, 3))
    np.testing.assert_allclose(first @ first.T, first.T @ first, atol=1e-12)
    np.testing.assert_allclose(first @ second, second @ first, atol=1e-12)
    assert not np.allclose(first, second)


def test_analogy_with_scalars_alone_is_distmult_and_without_them_complex() -> None:
    scalars = _numbers(WIDTH)[: WIDTH // 2]
    diagonal = _matrix("analogy", torch.cat([scalars, torch.zeros(4, dtype=torch.float64)]))
    np.testing.assert_allclose(np.diag(diagonal)[:4], scalars.numpy())
    assert np.count_nonzero(diagonal) == 4
    blocks = _matrix("analogy", _masked(4, 8))[4:, 4:]
    pair = model_class("complex")(ModelSettings("complex", 4), {})
    unit = torch.eye(4, dtype=torch.float64)
    rows = {"relation": _numbers(WIDTH)[4:].expand(4, -1)}
    expected = pair.score_tails({"entity": unit}, rows, {"entity": unit})
    np.testing.assert_allclose(blocks, expected.numpy())


@pytest.mark.parametrize(
    ("name", "width", "step"),
    [("analogy", 6, 4), ("analogy", 9, 4), ("complex", 5, 2), ("rotate", 5, 2)],
)
def test_a_width_that_cannot_be_halved_is_a_clear_error(name: str, width: int, step: int) -> None:
    with pytest.raises(ConfigError, match=f"{name} needs a dimension divisible by {step}"):
        Settings(model=ModelSettings(name, width))


def test_the_papers_widths_fit_every_model() -> None:
    for name in MODELS:
        settings = ModelSettings(name)
        assert model_class(name).layout(settings)["entity"].width == settings.dimension


def test_a_rescal_relation_has_a_number_for_every_pair_of_coordinates() -> None:
    layout = model_class("rescal").layout(ModelSettings("rescal", 7))
    assert (layout["entity"].width, layout["relation"].width) == (7, 49)
