"""Distances of points to every row of a table, and products with it.

For tensors they are compiled: torch's own distances take several times as long, and its matrix
products sum in an order that depends on the place in the matrix. Every sum is taken in the order of
the coordinates and by the same instructions, so rows that are equal get equal numbers: ties are
ties. Nor does a number depend on which others are computed with it. Ties are ties also for numpy
arrays, which numpy alone computes, for reading.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from kgsync.common.kernels import Kernel, kernel
from kgsync.models.parts.arrays import Array, is_numpy
from kgsync.models.parts.numpy_sums import Projections, sums_by_numpy
from kgsync.models.settings import Norm

__all__ = ["Projections", "distances_to_all", "products_with_all", "scores_of_all"]

_BLOCK = 256  # rows at a time: as they are and projected, they stay in the second-level cache
_ABSOLUTE, _SQUARED, _PRODUCT = range(3)
_TERMS: dict[int, Callable[[Any, NDArray[Any]], NDArray[Any]]] = {
    _ABSOLUTE: lambda a, x: np.abs(a - x),
    _SQUARED: lambda a, x: np.square(a - x),
    _PRODUCT: np.multiply,
}
_AS_IT_IS, _ONTO_HYPERPLANE, _BY_BOTH = range(3)
_CONTRACT = frozenset({"contract"})
"""a · b + c may round once: everywhere alike, as no loop has a remainder."""


def distances_to_all(
    points: Array, others: Array, *, squared: bool, projections: Projections | None = None
) -> Array:
    """Sums of absolute, or of squared, differences: (points x others), all on the CPU.

    As many threads compute as torch may use, or one for numpy arrays. A table that is stored column
    by column is not copied.

    Args:
        points: One point per row.
        others: The table.
        squared: Whether differences are squared.
        projections: How each point sees the table, if not as it is.
    """
    return _sums(points, others, _SQUARED if squared else _ABSOLUTE, projections)


def products_with_all(points: Array, others: Array) -> Array:
    """Dot products: (points x others); see `distances_to_all`."""
    return _sums(points, others, _PRODUCT, None)


def scores_of_all(
    points: Array, others: Array, norm: Norm, projections: Projections | None = None
) -> Array:
    """Negative distances in a norm: (points x others); see `distances_to_all`."""
    sums = distances_to_all(points, others, squared=norm != "l1", projections=projections)
    if isinstance(sums, np.ndarray):
        return cast("Array", -np.sqrt(sums) if norm == "l2" else -sums)
    if norm == "l2":
        plain = sums.numpy()
        np.sqrt(plain, out=plain)  # rounded correctly wherever a number stands, unlike torch's
    return sums.neg_()


class _Table(NamedTuple):
    """A table column by column, and how it is seen."""

    columns: NDArray[Any]
    seen_as: int
    directions: NDArray[Any]
    across: NDArray[Any]


def _sums(points: Array, others: Array, term: int, projections: Projections | None) -> Array:
    if is_numpy(points):
        plain = cast("NDArray[Any]", points), cast("NDArray[Any]", others)
        return cast("Array", sums_by_numpy(*plain, _TERMS[term], projections))
    import torch

    out = points.new_empty(len(points), len(others))
    columns = _columns(others)
    if projections is None:
        group = np.zeros(len(points), np.int64)
        table = _Table(columns, _AS_IT_IS, columns[:0], columns[:0])
    else:
        group, across = projections.group.numpy(), projections.across
        seen_as = _ONTO_HYPERPLANE if across is None else _BY_BOTH
        y = columns[:0] if across is None else _columns(across)
        table = _Table(columns, seen_as, projections.directions.contiguous().numpy(), y)
    order = np.argsort(group, kind="stable")
    threads = torch.get_num_threads()
    fill: Any = cast("Kernel", _fill).dispatcher
    arrays = points.contiguous().numpy(), group, table, term, out.numpy()
    parts = [part for part in np.array_split(order, threads) if len(part)]
    if len(parts) < 2:
        for part in parts:
            fill(part, *arrays)
        return out
    with ThreadPoolExecutor(threads) as pool:
        for running in [pool.submit(fill, part, *cast("Any", arrays)) for part in parts]:
            running.result()
    return out


def _columns(table: Array) -> NDArray[Any]:
    return np.ascontiguousarray(table.numpy().T)


@kernel(nogil=True)
def _fill(order: Any, points: Any, group: Any, table: Any, term: Any, out: Any) -> None:
    """Rows of `out` for some points; those of one group stand together in `order`.

    Sums are taken over whole blocks and four coordinates at once: what lies behind the last row is
    not looked at, and what lies behind the last coordinate is zero.
    """
    count, width = table.columns.shape[1], points.shape[1]
    known = min(width, len(table.columns))
    padded = -(-width // 4) * 4
    block = np.zeros((padded, _BLOCK), points.dtype)
    seen = block if table.seen_as == _AS_IT_IS else np.zeros_like(block)
    along = np.zeros(_BLOCK, points.dtype)
    values = np.zeros((2, padded), points.dtype)
    sums = np.empty((2, _BLOCK), points.dtype)
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        for i in range(known):
            _copy(block[i], table.columns[i, start:end])
        if table.seen_as == _BY_BOTH:
            _multiply(table.columns[:, start:end], table.across[:, start:end], along)
        first = 0
        while first < len(order):
            number = group[order[first]]
            last = first
            while last < len(order) and group[order[last]] == number:
                last += 1
            if table.seen_as != _AS_IT_IS:
                _project(block, along, table.directions[number], table.seen_as, seen)
            for at in range(first, last, 2):
                some = min(2, last - at)
                for k in range(some):
                    _copy(values[k], points[order[at + k]])
                if some == 2:
                    _sum_up_two(values, seen, term, sums)
                else:
                    _sum_up_one(values[0], seen, term, sums[0])
                for k in range(some):
                    _copy(out[order[at + k], start:end], sums[k, : end - start])
            first = last


@kernel(nogil=True)
def _copy(to: Any, row: Any) -> None:
    """Numba's own way takes more than a second to compile, for its error message."""
    for i in range(len(row)):
        to[i] = row[i]


@kernel(_CONTRACT, nogil=True)
def _sum_up_one(point: Any, seen: Any, term: Any, sums: Any) -> None:
    """For the rows of a block, the sum of the terms of all coordinates."""
    sums[:] = 0
    for i in range(0, len(seen), 4):
        a, b, c, d = point[i], point[i + 1], point[i + 2], point[i + 3]
        w, x, y, z = seen[i], seen[i + 1], seen[i + 2], seen[i + 3]
        for j in range(_BLOCK):
            s = sums[j] + _term(a, w[j], term)
            s = s + _term(b, x[j], term)
            s = s + _term(c, y[j], term)
            sums[j] = s + _term(d, z[j], term)


@kernel(_CONTRACT, nogil=True)
def _sum_up_two(points: Any, seen: Any, term: Any, sums: Any) -> None:
    """The same for two points: a number that was read serves both."""
    sums[:] = 0
    one, two, first, second = points[0], points[1], sums[0], sums[1]
    for i in range(0, len(seen), 4):
        a, b, c, d = one[i], one[i + 1], one[i + 2], one[i + 3]
        e, f, g, h = two[i], two[i + 1], two[i + 2], two[i + 3]
        w, x, y, z = seen[i], seen[i + 1], seen[i + 2], seen[i + 3]
        for j in range(_BLOCK):
            s = first[j] + _term(a, w[j], term)
            s = s + _term(b, x[j], term)
            s = s + _term(c, y[j], term)
            first[j] = s + _term(d, z[j], term)
            s = second[j] + _term(e, w[j], term)
            s = s + _term(f, x[j], term)
            s = s + _term(g, y[j], term)
            second[j] = s + _term(h, z[j], term)


@kernel(_CONTRACT, nogil=True)
def _term(a: Any, x: Any, term: Any) -> Any:
    gap = a - x
    if term == _ABSOLUTE:
        return abs(gap)
    if term == _SQUARED:
        return gap * gap
    return a * x


@kernel(nogil=True)
def _multiply(rows: Any, others: Any, along: Any) -> None:
    """Dot products of the rows of two blocks, one by one."""
    along[:] = 0
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            along[j] += rows[i, j] * others[i, j]


@kernel(_CONTRACT, nogil=True)
def _project(block: Any, along: Any, direction: Any, seen_as: Any, seen: Any) -> None:
    """The rows of a block as a relation sees them."""
    if seen_as == _ONTO_HYPERPLANE:
        along[:] = 0
        for i in range(len(direction)):
            v, x = direction[i], block[i]
            for j in range(_BLOCK):
                along[j] -= v * x[j]
    for i in range(len(direction)):
        v, x, y = direction[i], block[i], seen[i]
        for j in range(_BLOCK):
            y[j] = x[j] + along[j] * v
    if seen_as == _BY_BOTH:
        _normalize(seen)


@kernel(_CONTRACT, nogil=True)
def _normalize(seen: Any) -> None:
    """Bring the rows of a block to length one; a row of zeros stays zero."""
    lengths = np.zeros(_BLOCK, seen.dtype)
    for i in range(len(seen)):
        y = seen[i]
        for j in range(_BLOCK):
            lengths[j] += y[j] * y[j]
    inverse = np.empty_like(lengths)
    for j in range(_BLOCK):
        lengths[j] = max(np.sqrt(lengths[j]), 1e-12)
        inverse[j] = 1 / lengths[j]
    for i in range(len(seen)):
        y = seen[i]
        for j in range(_BLOCK):
            # A quotient, corrected by what is left: a third of the time of a division.
            quotient = y[j] * inverse[j]
            y[j] = quotient + (y[j] - quotient * lengths[j]) * inverse[j]
