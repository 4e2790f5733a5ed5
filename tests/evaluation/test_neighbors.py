"""The overlap of nearest neighbors in two versions, against its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from kgsync.evaluation.neighbors import neighbor_overlap
from kgsync.graph.active import Active
from kgsync.graph.hashing import mix

HASHES = mix(np.arange(200, dtype=np.uint64))
NO_RELATION = np.empty(0, np.int32)


def active(*ids: int) -> Active:
    return Active(np.array(ids, np.int32), NO_RELATION)


def vectors(count: int, seed: int) -> Tensor:
    return torch.randn(count, 8, generator=torch.Generator().manual_seed(seed))


def nearest(table: Tensor, row: int, k: int = 10) -> set[int]:
    cosine = torch.nn.functional.cosine_similarity(table, table[row : row + 1])
    cosine[row] = -2
    return set(cosine.topk(k).indices.tolist())


def test_it_is_the_mean_share_of_the_ten_nearest() -> None:
    ids = active(*range(100))
    old = vectors(100, 0)
    new = old + 0.2 * vectors(100, 1)
    found = neighbor_overlap((old, ids), (new, ids), HASHES, sample=0, candidates=0)
    assert found is not None
    shares = [len(nearest(old, row) & nearest(new, row)) / 10 for row in range(100)]
    assert found.overlap == pytest.approx(np.mean(shares))
    assert 0.1 < found.overlap < 1
    assert (found.error, found.k, found.sample, found.shared) == (0, 10, 100, 100)


def test_vectors_that_stay_keep_all_neighbors_whatever_comes_and_goes() -> None:
    table = vectors(120, 0)
    old, new = active(*range(100)), active(*range(20, 120))
    before, after = (table[:100], old), (table[20:], new)
    found = neighbor_overlap(before, after, HASHES, sample=30, candidates=50)
    assert found is not None
    assert (found.overlap, found.error) == (1, 0)
    assert (found.sample, found.candidates, found.shared) == (30, 50, 80)


def test_equal_vectors_are_neighbors_in_the_order_of_their_rows() -> None:
    ids = active(*range(100))
    old = vectors(100, 0)
    old[10:70] = old[10]  # as those of new entities that were never trained
    new = old.clone()
    new[99] = -old[10]  # which is not a neighbor of them
    alone = nearest(old, 99) | {row for row in range(100) if 99 in nearest(old, row)}
    found = neighbor_overlap((old, ids), (new, ids), HASHES, sample=0, candidates=0)
    assert found is not None
    assert found.overlap >= 1 - len(alone | {99}) / 100


def test_a_sample_estimates_it_with_an_error() -> None:
    ids = active(*range(200))
    old = vectors(200, 0)
    new = old + 0.2 * vectors(200, 1)
    all_ = neighbor_overlap((old, ids), (new, ids), HASHES, sample=0, candidates=0)
    some = neighbor_overlap((old, ids), (new, ids), HASHES, sample=60, candidates=0)
    assert all_ is not None
    assert some is not None
    assert some.error > 0
    assert abs(all_.overlap - some.overlap) < 4 * some.error


def test_few_entities_have_fewer_neighbors_and_one_has_none() -> None:
    for count, k in ((4, 3), (2, 1)):
        ids = active(*range(count))
        table = vectors(count, 0)
        found = neighbor_overlap((table, ids), (table, ids), HASHES, sample=9, candidates=0)
        assert found is not None
        assert (found.k, found.overlap) == (k, 1)
    one = active(0)
    table = vectors(1, 0)
    assert neighbor_overlap((table, one), (table, one), HASHES, sample=9, candidates=0) is None
