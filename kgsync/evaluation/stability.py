"""How far vectors moved from one version to the next: the Normalized Mean Change (eq. NMC)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kgsync.errors import UndefinedMetricError
from kgsync.graph.living import Living
from kgsync.models.base import Kind, Model

__all__ = ["MeanChange", "model_change", "normalized_mean_change"]

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
    old_living: Living,
    new: Model,
    new_living: Living,
    random: np.random.Generator,
    *,
    sample: int = 0,
    memory_mb: int = 256,
) -> dict[Kind, MeanChange | None]:
    """NMC of the entities and of the relations; None where fewer than two are in both versions.

    Args:
        old: The earlier model.
        old_living: The elements its rows belong to.
        new: The later model.
        new_living: The elements its rows belong to.
        random: Samples the elements.
        sample: See `normalized_mean_change`.
        memory_mb: See `normalized_mean_change`.
    """
    pairs: tuple[tuple[Kind, Any, Any], ...] = (
        ("entity", old_living.entities, new_living.entities),
        ("relation", old_living.relations, new_living.relations),
    )
    changes: dict[Kind, MeanChange | None] = {}
    for kind, before, after in pairs:
        _, at_old, at_new = np.intersect1d(before, after, assume_unique=True, return_indices=True)
        vectors = old.tables[kind][torch.from_numpy(at_old)], new.tables[kind][at_new]
        try:
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
    """Euclidean distances by one matrix product, in place of it."""
    products = torch.addmm(b_squares, a, b.T, alpha=-2.0)
    products += a_squares[:, None]
    return products.clamp_(min=0.0).sqrt_()
