"""How far vectors moved from one version to the next: the Normalized Mean Change (eq. NMC)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kgsync.errors import UndefinedMetricError
from kgsync.evaluation.moved_rows import Embedded, moved_ids
from kgsync.graph.active import Active, shared_rows
from kgsync.graph.hashing import Hashes
from kgsync.graph.snapshot import places
from kgsync.graph.split import persistent_rows
from kgsync.models.base import Kind, Model

__all__ = ["MeanChange", "change_of_few", "model_change", "normalized_mean_change"]

_FEW = 1024  # vectors that moved, at a time
_EXACT = 4096
"""Up to this many vectors, distances are computed in double precision."""


@dataclass(frozen=True)
class MeanChange:
    """NMC of two embeddings: 0 where nothing moved."""

    nmc: float
    shared: int
    """Elements that are in both versions."""
    sample: int
    """Elements it was estimated from; all of them if it is exact."""
    error: float
    """Standard error of the estimate; 0 if it is exact, infinite from one element alone."""


def model_change(
    old: Model,
    old_active: Active,
    new: Model,
    new_active: Active,
    random: np.random.Generator,
    *,
    sample: int = 0,
    memory_mb: int = 256,
    hashes: Mapping[Kind, Hashes] | None = None,
    touched: Mapping[Kind, NDArray[np.int64]] | None = None,
) -> dict[Kind, MeanChange | None]:
    """NMC of the entities and of the relations; None where fewer than two are in both versions.

    It is exact up to `sample` elements. Of more, it is estimated: if most of them moved, as in
    `normalized_mean_change`; if at most half of them did, as in `change_of_few`.

    Args:
        old: The earlier model.
        old_active: The elements its rows belong to.
        new: The later model.
        new_active: The elements its rows belong to.
        random: Samples the elements.
        sample: See `normalized_mean_change`.
        memory_mb: See `normalized_mean_change`.
        hashes: For each row of the later model a number that belongs to its element. Those with the
            smallest numbers show how far vectors are apart, so that it is estimated from the same
            elements in every version. Without it, random ones do.
        touched: The rows of the later model that may have moved; see `Embedded`.
    """
    before_, after_ = Embedded(old, old_active), Embedded(new, new_active, touched)
    pairs: tuple[tuple[Kind, Any, Any], ...] = (
        ("entity", old_active.entities, new_active.entities),
        ("relation", old_active.relations, new_active.relations),
    )
    changes: dict[Kind, MeanChange | None] = {}
    for kind, before, after in pairs:
        at_old, at_new = shared_rows(before, after)
        moved = moved_ids(before_, after_, kind)
        few = 1 < sample < len(at_new) and 2 * len(moved) <= len(at_new)
        try:
            if few:
                chosen = _chosen(at_new, sample, hashes[kind] if hashes else None, random)
                rows = np.searchsorted(before, moved), np.searchsorted(after, moved)
                changes[kind] = change_of_few(
                    old.tables[kind][torch.from_numpy(rows[0])],
                    new.tables[kind][torch.from_numpy(rows[1])],
                    new.tables[kind][torch.from_numpy(chosen)],
                    places(chosen, rows[1]),
                    len(at_new),
                    memory_mb,
                )
                continue
            vectors = old.tables[kind][torch.from_numpy(at_old)], new.tables[kind][at_new]
            changes[kind] = normalized_mean_change(
                *vectors, random, sample=sample, memory_mb=memory_mb
            )
        except UndefinedMetricError:
            changes[kind] = None
    return changes


def normalized_mean_change(
    old: Tensor,
    new: Tensor,
    random: np.random.Generator,
    *,
    sample: int = 0,
    memory_mb: int = 256,
) -> MeanChange:
    """NMC of the vectors of the same elements in two versions, by Euclidean distance.

    Args:
        old: The vectors before, one row per element.
        new: The vectors after, in the same order.
        random: Samples the elements.
        sample: Estimate it from so many elements, each compared with all others; 0 takes all.
        memory_mb: Bound on a block of distances.

    Raises:
        UndefinedMetricError: There are fewer than two elements, or all have the same vector.
    """
    count = len(new)
    if count < 2:
        raise UndefinedMetricError(f"NMC needs at least two shared elements, but there are {count}")
    moved = torch.linalg.vector_norm((new - old).double(), dim=1)
    # Distances do not change when all vectors are moved alike, and small numbers round less.
    points = (new.double() - new.double().mean(0)).to(_precision(count))
    if sample == 0 or sample >= count:
        chosen = torch.arange(count)
        sums = _all_sums(points, memory_mb)
    else:
        chosen = torch.from_numpy(np.sort(random.choice(count, sample, replace=False)))
        sums = _some_sums(points, chosen, memory_mb)
    if not bool((sums > 0).all()):
        raise UndefinedMetricError("NMC is undefined: all shared elements have the same vector")
    share = count * moved[chosen] / sums
    mean_share, mean_sum = share.mean(), sums.mean()
    nmc = mean_share / mean_sum
    error = 0.0 if len(chosen) == count else float("inf")
    if 1 < len(chosen) < count:
        # A ratio of two means: the delta method, with the correction for a finite population.
        spread = (share - nmc * sums).std(correction=1) / mean_sum
        left = 1 - len(chosen) / count
        error = float(spread * (left / len(chosen)) ** 0.5)
    return MeanChange(float(nmc), count, len(chosen), error)


def change_of_few(
    old: Tensor,
    new: Tensor,
    others: Tensor,
    own: NDArray[np.int64],
    count: int,
    memory_mb: int = 256,
) -> MeanChange:
    """NMC of vectors of which few moved: all of these count, exactly as far as they moved.

    What is estimated, from a sample of all elements, is how far vectors are apart: for each vector
    that moved its mean distance to the others, and the mean of all distances. The error is that of
    this estimate alone, by the delta method.

    Args:
        old: The vectors that moved, before.
        new: The same, after.
        others: The vectors of the sample, after.
        own: For each one that moved where it is in the sample; -1 if it is not in it.
        count: How many elements there are.
        memory_mb: Bound on a block of distances.

    Raises:
        UndefinedMetricError: All elements of the sample have the same vector.
    """
    size = len(others)
    centre = others.double().mean(0)
    points, sample = new.double() - centre, others.double() - centre
    squares = sample.square().sum(1)
    # What the distances from one vector to all others add up to.
    sums = (count - 1) * _all_sums(sample, memory_mb) / (size - 1)
    mean_sum = sums.mean()
    if not bool(mean_sum > 0):
        raise UndefinedMetricError("NMC is undefined: all elements of the sample have one vector")
    moved = torch.linalg.vector_norm((new - old).double(), dim=1)
    total, influence = 0.0, torch.zeros(size, dtype=torch.float64)
    few = max(1, min(_FEW, memory_mb * 2**20 // (16 * size)))
    for start in range(0, len(points), few):
        part = slice(start, start + few)
        block = points[part]
        far = _distances(block, block.square().sum(1), sample, squares)
        at = torch.from_numpy(own[part])
        itself = at >= 0
        far[itself, at[itself]] = 0.0
        mean_far = far.sum(1) / (size - itself.double())
        weights = moved[part] / ((count - 1) * mean_far)
        total += float(weights.sum())
        influence -= ((far / mean_far[:, None] - 1) * weights[:, None]).sum(0)
    nmc = total / float(mean_sum)
    by_element = (influence - 2 * nmc * (sums - mean_sum)) / mean_sum
    left = 1 - size / count
    error = float(by_element.std(correction=1)) * (left / size) ** 0.5 if len(points) else 0.0
    return MeanChange(nmc, count, size, error)


def _chosen(
    rows: NDArray[np.int64], size: int, hashes: Hashes | None, random: np.random.Generator
) -> NDArray[np.int64]:
    """So many of some rows, sorted."""
    if hashes is None:
        return np.sort(random.choice(rows, size, replace=False))
    return rows[persistent_rows(hashes[rows], size)]


def _precision(count: int) -> torch.dtype:
    return torch.float64 if count <= _EXACT else torch.float32


def _all_sums(points: Tensor, memory_mb: int) -> Tensor:
    """For each point the sum of its distances to all; each block of pairs is computed once."""
    # Larger blocks would be memory anew each time, which costs more than the distances.
    block = max(1, min(len(points), 1024, int((memory_mb * 2**20 / 16) ** 0.5)))
    squares = points.square().sum(1)
    sums = torch.zeros(len(points), dtype=torch.float64)
    for i in range(0, len(points), block):
        rows = slice(i, i + block)
        for j in range(i, len(points), block):
            columns = slice(j, j + block)
            distances = _distances(points[rows], squares[rows], points[columns], squares[columns])
            if i == j:
                distances.fill_diagonal_(0.0)
            else:
                sums[columns] += distances.sum(0, dtype=torch.float64)
            sums[rows] += distances.sum(1, dtype=torch.float64)
    return sums


def _some_sums(points: Tensor, chosen: Tensor, memory_mb: int) -> Tensor:
    """For each chosen point the sum of its distances to all."""
    block = max(1, memory_mb * 2**20 // (16 * len(points)))
    squares = points.square().sum(1)
    sums = torch.empty(len(chosen), dtype=torch.float64)
    for start in range(0, len(chosen), block):
        part = chosen[start : start + block]
        distances = _distances(points[part], squares[part], points, squares)
        distances[torch.arange(len(part)), part] = 0.0
        sums[start : start + block] = distances.sum(1, dtype=torch.float64)
    return sums


def _distances(a: Tensor, a_squares: Tensor, b: Tensor, b_squares: Tensor) -> Tensor:
    """Euclidean distances by one matrix product, computed in place."""
    products = torch.addmm(b_squares, a, b.T, alpha=-2.0)
    products += a_squares[:, None]
    return products.clamp_(min=0.0).sqrt_()
