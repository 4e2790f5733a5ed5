"""Distances of points to every row, against torch's and by numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch

from kgsync.models.distances import distances_to_all


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 1300, 7), (2, 512, 3), (4, 513, 100)])
def test_distances_are_those_of_torch(
    threads: int, dtype: torch.dtype, shape: tuple[int, int, int]
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    count, others, width = shape
    a, b = torch.randn(count, width, dtype=dtype), torch.randn(others, width, dtype=dtype)
    try:
        found = [distances_to_all(a, b, squared=squared) for squared in (False, True)]
    finally:
        torch.set_num_threads(before)
    gap = a[:, None] - b[None]
    torch.testing.assert_close(found[0], gap.abs().sum(-1))
    torch.testing.assert_close(found[1], gap.square().sum(-1))


def test_distances_by_hand() -> None:
    points, others = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.0], [4.0, -2.0]])
    assert distances_to_all(points, others, squared=False).tolist() == [[0.0, 7.0]]
    assert distances_to_all(points, others, squared=True).tolist() == [[0.0, 25.0]]


def test_equal_rows_are_equally_far_wherever_they_stand() -> None:
    row = torch.randn(1, 37)
    others = torch.cat([torch.randn(100, 37), row, torch.randn(900, 37), row, row])
    at = [100, 1001, 1002]
    for squared in (False, True):
        found = distances_to_all(torch.randn(3, 37), others, squared=squared)[:, at]
        assert (found == found[:, :1]).all()


def test_no_points_have_no_distances() -> None:
    assert distances_to_all(torch.empty(0, 3), torch.randn(4, 3), squared=False).shape == (0, 4)
