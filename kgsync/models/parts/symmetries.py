"""Maps of a model's vectors that change no score, and the one that leads nearest to other vectors.

Two trainings on one graph end in different coordinates: for most scores, all vectors may be turned,
or their coordinates exchanged, without a change. A model declares such a family of maps as its
`symmetry`: a function that finds, given the vectors of the same elements in two trainings, the
member that brings the one set nearest to the other, by the squares of Euclidean distances. Only
maps that keep lengths and distances are considered, so neighbours stay the same too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsync.models.parts.assignment import best_assignment
from kgsync.models.settings import ModelSettings, Norm

__all__ = [
    "Linear",
    "OnBothSides",
    "SameScores",
    "Symmetry",
    "TableMap",
    "Tables",
    "blocks",
    "complex_coordinates",
    "kind_of",
    "signed_permutation",
    "turned",
    "turned_and_moved",
]

Numbers = NDArray[np.float64]
Tables = Mapping[str, NDArray[Any]]
"""Vectors of the same elements, by table name."""


class TableMap(Protocol):
    """How the rows of one table are mapped."""

    def rows(self, rows: Numbers) -> Numbers:
        """The rows, mapped."""

    def squares(self, sums: Numbers) -> Numbers:
        """What sums of squared gradients by coordinate become, at least about."""


@dataclass(frozen=True)
class Linear:
    """Every row is multiplied with an orthogonal matrix, and moved."""

    matrix: Numbers
    shift: Numbers | float = 0.0

    def rows(self, rows: Numbers) -> Numbers:
        """The rows, mapped."""
        return rows @ self.matrix + self.shift

    def squares(self, sums: Numbers) -> Numbers:
        """Exact if coordinates are exchanged; else what uncorrelated gradients would give."""
        return sums @ np.square(self.matrix)


@dataclass(frozen=True)
class OnBothSides:
    """Every row is a square matrix M, which becomes QᵀMQ."""

    matrix: Numbers

    def rows(self, rows: Numbers) -> Numbers:
        """The rows, mapped."""
        return self._both(rows, self.matrix)

    def squares(self, sums: Numbers) -> Numbers:
        """See `Linear.squares`."""
        return self._both(sums, np.square(self.matrix))

    @staticmethod
    def _both(rows: Numbers, matrix: Numbers) -> Numbers:
        width = len(matrix)
        squares = rows.reshape(-1, width, width)
        return (matrix.T @ squares @ matrix).reshape(len(rows), -1)


@dataclass(frozen=True)
class SameScores:
    """A map of all tables that changes no score."""

    kind: str
    """What it does, for the report."""
    maps: Mapping[str, TableMap]
    """By table; every table has one."""
    nearest: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = field(default_factory=dict)
    """By table, what single rows may become besides: of (mapped rows, old rows)."""


Symmetry = Callable[[ModelSettings, Tables, Tables], SameScores]
"""From settings, new vectors and old ones of the same elements, the map that leads nearest."""


def kind_of(settings: ModelSettings) -> str:
    """What `turned` finds for the norm of a model."""
    return "signed permutation" if settings.norm == "l1" else "orthogonal map"


def turned(products: Numbers, norm: Norm) -> Numbers:
    """The matrix Q with the largest trace of Qᵀ · products among those that keep a norm.

    Args:
        products: New vectorsᵀ · old vectors.
        norm: Euclidean lengths allow any orthogonal matrix (Procrustes); l1 allows coordinates to
            be exchanged and sign-flipped.
    """
    if norm == "l1":
        return signed_permutation(products)
    left, _, right = np.linalg.svd(products)
    matrix: Numbers = left @ right
    return matrix


def signed_permutation(products: Numbers, fixed: Numbers | None = None) -> Numbers:
    """The same among signed permutations.

    Args:
        products: New vectorsᵀ · old vectors.
        fixed: The same for vectors that are permuted but keep their signs.
    """
    gains = np.abs(products) if fixed is None else np.abs(products) + fixed
    to = best_assignment(gains)
    matrix = np.zeros_like(products)
    at = np.arange(len(to)), to
    matrix[at] = np.where(products[at] < 0, -1.0, 1.0)
    return matrix


def turned_and_moved(settings: ModelSettings, new: Tables, old: Tables) -> tuple[Linear, Linear]:
    """Maps of entities and of relations: both turned alike, and entities moved.

    They are those that change no h + r - t but for its turn.
    """
    means = new["entity"].mean(0), old["entity"].mean(0)
    centred = [table["entity"] - mean for table, mean in zip((new, old), means, strict=True)]
    products = centred[0].T @ centred[1] + new["relation"].T @ old["relation"]
    matrix = turned(products, settings.norm)
    return Linear(matrix, means[1] - means[0] @ matrix), Linear(matrix)


def blocks(*parts: Numbers) -> Numbers:
    """A matrix of square blocks on its diagonal."""
    whole = np.zeros((sum(map(len, parts)),) * 2)
    start = 0
    for part in parts:
        end = start + len(part)
        whole[start:end, start:end] = part
        start = end
    return whole


def complex_coordinates(
    new: Numbers, old: Numbers, plain: Numbers, conjugated: Numbers
) -> tuple[Numbers, Numbers]:
    """Exchange, turn and conjugate complex coordinates: what is done to entities and to relations.

    Args:
        new: Entities [real parts | imaginary parts].
        old: The same entities elsewhere.
        plain: What relations gain where a coordinate (row) takes the place of another (column).
        conjugated: What they gain if the coordinate is conjugated.

    Returns:
        The matrix of entities, and that of relations, which are not turned.
    """
    half = new.shape[1] // 2
    here, there = new[:, :half] + 1j * new[:, half:], old[:, :half] + 1j * old[:, half:]
    products = here.conj().T @ there, here.T @ there
    gains = np.stack([np.abs(products[0]) + plain, np.abs(products[1]) + conjugated])
    to, at = best_assignment(gains.max(0)), np.arange(half)
    mirrored = gains[1, at, to] > gains[0, at, to]
    found = np.where(mirrored, products[1][at, to], products[0][at, to])
    turns = np.where(found == 0, 1, found) / np.where(found == 0, 1, np.abs(found))
    sign = np.where(mirrored, -1.0, 1.0)
    matrices = []
    for turn in (turns, np.ones_like(turns)):
        matrix = np.zeros((2 * half, 2 * half))
        matrix[at, to] = turn.real
        matrix[at, half + to] = turn.imag
        matrix[half + at, to] = -sign * turn.imag
        matrix[half + at, half + to] = sign * turn.real
        matrices.append(matrix)
    return matrices[0], matrices[1]
