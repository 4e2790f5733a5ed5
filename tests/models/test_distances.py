"""Distances to, and products with, every row: against torch's, and by numbers by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from kgsync.models.parts.distances import Projections, distances_to_all, products_with_all

_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-12}

either_type = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
some_shapes = pytest.mark.parametrize(
    "shape", [(1, 1, 1), (5, 1300, 7), (2, 512, 3), (4, 513, 100), (3, 255, 8), (8, 257, 2)]
)
"""Points, rows and width; rows are taken 256 at a time, points in pairs, coordinates in fours."""


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3])
@either_type
@some_shapes
def test_distances_and_products_are_those_of_torch(
    threads: int, dtype: torch.dtype, shape: tuple[int, int, int]
) -> None:
    count, others, width = shape
    a, b = torch.randn(count, width, dtype=dtype), torch.randn(others, width, dtype=dtype)
    with _threads(threads):
        found = [distances_to_all(a, b, squared=squared) for squared in (False, True)]
        products = products_with_all(a, b)
    gap = a[:, None] - b[None]
    torch.testing.assert_close(found[0], gap.abs().sum(-1))
    torch.testing.assert_close(found[1], gap.square().sum(-1))
    torch.testing.assert_close(products, a @ b.T, atol=_ROUNDING[dtype], rtol=0)


def test_distances_by_hand() -> None:
    points, others = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.0], [4.0, -2.0]])
    assert distances_to_all(points, others, squared=False).tolist() == [[0.0, 7.0]]
    assert distances_to_all(points, others, squared=True).tolist() == [[0.0, 25.0]]
    assert products_with_all(points, others).tolist() == [[5.0, 0.0]]


@some_shapes
def test_a_table_stored_by_columns_has_the_same_distances(shape: tuple[int, int, int]) -> None:
    count, others, width = shape
    a, b = torch.randn(count, width), torch.randn(others, width)
    by_columns = b.T.contiguous().T
    for squared in (False, True):
        expected = distances_to_all(a, b, squared=squared)
        assert torch.equal(distances_to_all(a, by_columns, squared=squared), expected)
    assert torch.equal(products_with_all(a, by_columns), products_with_all(a, b))


def _seen(table: Tensor, direction: Tensor, across: Tensor | None) -> Tensor:
    """A table as one relation sees it."""
    if across is None:
        return table - (table @ direction)[:, None] * direction
    resized = functional.pad(table, (0, len(direction) - table.shape[1]))
    return functional.normalize(resized + (table * across).sum(1, keepdim=True) * direction)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("relation_width", [5, 7, 10, None])
@either_type
def test_each_point_sees_the_table_as_its_relation_does(
    threads: int, relation_width: int | None, dtype: torch.dtype
) -> None:
    table = torch.randn(700, 7, dtype=dtype)
    across = None if relation_width is None else torch.randn(700, 7, dtype=dtype)
    width = relation_width or 7
    directions = functional.normalize(torch.randn(3, width, dtype=dtype))
    points = torch.randn(9, width, dtype=dtype)
    group = torch.tensor([2, 0, 2, 1, 0, 2, 2, 0, 2])
    projections = Projections(group, directions, across)
    for squared in (False, True):
        with _threads(threads):
            found = distances_to_all(points, table, squared=squared, projections=projections)
        for at in range(9):
            gap = points[at] - _seen(table, directions[group[at]], across)
            expected = (gap.square() if squared else gap.abs()).sum(1)
            torch.testing.assert_close(found[at], expected, atol=_ROUNDING[dtype], rtol=0)


def test_a_row_of_zeros_stays_one_when_brought_to_length_one() -> None:
    table, across = torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.zeros(2, 2)
    seen = Projections(torch.tensor([0]), torch.ones(1, 2), across)
    point = torch.tensor([[0.0, 0.0]])
    assert distances_to_all(point, table, squared=True, projections=seen).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("across", [False, True])
def test_equal_rows_are_seen_alike_wherever_they_stand(across: bool) -> None:
    twins = [0, 255, 256, 300, 1001, 1002]
    table, other = torch.randn(1003, 37), torch.randn(1003, 37)
    table[twins], other[twins] = table[0].clone(), other[0].clone()
    directions = functional.normalize(torch.randn(2, 37))
    seen = Projections(torch.tensor([1, 0, 1]), directions, other if across else None)
    for squared in (False, True):
        found = distances_to_all(torch.randn(3, 37), table, squared=squared, projections=seen)
        assert (found[:, twins] == found[:, :1]).all()


def test_equal_rows_are_equally_far_wherever_they_stand() -> None:
    row = torch.randn(1, 37)
    others = torch.cat([torch.randn(100, 37), row, torch.randn(900, 37), row, row])
    at = [100, 1001, 1002]
    for squared in (False, True):
        found = distances_to_all(torch.randn(3, 37), others, squared=squared)[:, at]
        assert (found == found[:, :1]).all()
    found = products_with_all(torch.randn(3, 37), others)[:, at]
    assert (found == found[:, :1]).all()


def test_no_points_have_no_distances() -> None:
    assert distances_to_all(torch.empty(0, 3), torch.randn(4, 3), squared=False).shape == (0, 4)
