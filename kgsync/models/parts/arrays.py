"""Functions of rows of numbers that work on numpy arrays and on torch tensors alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from kgsync.models.settings import Norm

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Array",
    "Sums",
    "distinct",
    "einsum",
    "is_numpy",
    "joined",
    "length",
    "normalized",
    "products_in_order",
    "resized",
    "stacked",
    "sums_in_order",
    "sums_of_rows",
]

Array: TypeAlias = "Tensor"
"""A torch tensor, or a numpy array in its place."""
Sums: TypeAlias = Callable[[Array], Array]
"""How rows are summed."""

_TINY = 1e-12  # as in torch's normalize


def is_numpy(array: Array) -> bool:
    """Whether numpy computes; else torch does."""
    return isinstance(array, np.ndarray)


def joined(parts: Sequence[Array]) -> Array:
    """Rows made of the rows of the parts."""
    if is_numpy(parts[0]):
        return cast("Array", np.concatenate(cast("Any", parts), axis=-1))
    import torch

    return torch.cat(list(parts), dim=-1)


def stacked(rows: Sequence[Array]) -> Array:
    """Rows one below the other."""
    if is_numpy(rows[0]):
        return cast("Array", np.stack(cast("Any", rows)))
    import torch

    return torch.stack(list(rows))


def einsum(equation: str, a: Array, b: Array) -> Array:
    """Sums of products by Einstein's notation."""
    if is_numpy(a):
        return cast("Array", np.einsum(equation, cast("Any", a), cast("Any", b)))
    import torch

    return torch.einsum(equation, a, b)


def sums_of_rows(rows: Array) -> Array:
    """The sum of each row, in whatever order is fastest."""
    return rows.sum(-1)


def sums_in_order(rows: Array) -> Array:
    """The sum of each row, column after column: the same bits whichever rows there are besides."""
    total = rows[..., 0] * 1
    for column in range(1, rows.shape[-1]):
        total += rows[..., column]
    return total


def products_in_order(rows: Array, matrices: Array) -> Array:
    """Each row times its matrix, like `sums_in_order`: a matrix product depends on shapes."""
    total = rows[..., :1] * matrices[..., 0, :]
    for column in range(1, rows.shape[-1]):
        total += rows[..., column, None] * matrices[..., column, :]
    return total


def normalized(rows: Array, sums: Sums = sums_of_rows) -> Array:
    """The rows normalised to length one; a row of zeros stays zero."""
    if sums is not sums_of_rows and not is_numpy(rows):
        import torch

        return torch.from_numpy(normalized(cast("Array", rows.numpy()), sums))
    if is_numpy(rows):
        squares = sums(rows * rows)[..., None]
        return rows / cast("Array", np.maximum(np.sqrt(cast("Any", squares)), _TINY))
    from torch.nn import functional

    return functional.normalize(rows, dim=-1)


def resized(rows: Array, width: int) -> Array:
    """The rows cut, or padded with zeros, to a width."""
    missing = width - rows.shape[-1]
    if not is_numpy(rows):
        from torch.nn import functional

        return functional.pad(rows, (0, missing))  # a negative padding cuts
    if missing <= 0:
        return rows[..., :width]
    zeros = np.zeros((*rows.shape[:-1], missing), cast("Any", rows).dtype)
    return joined([rows, cast("Array", zeros)])


def distinct(rows: Array) -> tuple[Array, Array]:
    """The different rows, and for each row which of them it is."""
    if is_numpy(rows):
        found, which = np.unique(cast("Any", rows), axis=0, return_inverse=True)
        return cast("Array", found), cast("Array", which.reshape(-1))
    import torch

    distinct_, which_ = torch.unique(rows, dim=0, return_inverse=True)
    return distinct_, which_


def length(gap: Array, norm: Norm) -> Array:
    """Length of each row."""
    if norm == "l2sq":
        return (gap * gap).sum(-1) if is_numpy(gap) else gap.square().sum(-1)
    order = 1.0 if norm == "l1" else 2.0
    if is_numpy(gap):
        return cast("Array", np.linalg.norm(cast("Any", gap), ord=order, axis=-1))
    import torch

    found: Tensor = torch.linalg.vector_norm(gap, ord=order, dim=-1)
    return found
