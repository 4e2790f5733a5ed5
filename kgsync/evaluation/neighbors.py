"""How many of the nearest neighbors of entities an update keeps: what consumers see of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from kgsync.evaluation.ranking import standard_error
from kgsync.graph.active import Active, shared_rows
from kgsync.graph.hashing import Hashes
from kgsync.graph.split import persistent_rows

__all__ = ["NeighborOverlap", "neighbor_overlap"]

_NEAREST = 10
_AT_A_TIME = 256


@dataclass(frozen=True)
class NeighborOverlap:
    """The mean share of the nearest neighbors, by cosine, that are the same in two versions."""

    overlap: float
    error: float
    """Standard error; 0 if all entities were compared."""
    k: int
    """How many neighbors of each."""
    sample: int
    """Entities that were compared."""
    candidates: int
    """Entities that could be a neighbor."""
    shared: int
    """Entities that are in both versions; others count in neither."""


def neighbor_overlap(
    old: tuple[Tensor, Active],
    new: tuple[Tensor, Active],
    hashes: Hashes,
    *,
    sample: int,
    candidates: int,
    memory_mb: int = 256,
) -> NeighborOverlap | None:
    """Compare the neighbors of entities that are in both versions; None if there are too few.

    Args:
        old: The vectors of the entities before, and which these are.
        new: Those after.
        hashes: For each entity id a number that belongs to its IRI.
        sample: Entities to compare, the same from version to version; 0 takes all.
        candidates: Entities that can be a neighbor; 0 takes all.
        memory_mb: Bound on one block of similarities.
    """
    at_old, at_new = shared_rows(old[1].entities, new[1].entities)
    shared = new[1].entities[at_new]
    if len(shared) < 2:
        return None
    among = persistent_rows(hashes[shared], candidates)
    asked = persistent_rows(hashes[shared[among]], sample)
    k = min(_NEAREST, len(among) - 1)
    # The same rows in the same order: vectors that have not moved have the same neighbors.
    before, after = (
        _nearest(table[torch.from_numpy(rows[among])], asked, k, memory_mb)
        for table, rows in ((old[0], at_old), (new[0], at_new))
    )
    kept = (before[:, :, None] == after[:, None, :]).any(dim=2).double().mean(dim=1).numpy()
    return NeighborOverlap(
        float(kept.mean()),
        standard_error(kept, len(shared)),
        k,
        len(asked),
        len(among),
        len(shared),
    )


def _nearest(vectors: Tensor, rows: NDArray[np.int64], k: int, memory_mb: int) -> Tensor:
    """Rows of the k nearest of some vectors, itself left out."""
    block = max(1, min(_AT_A_TIME, memory_mb * 2**20 // (len(vectors) * vectors.itemsize)))
    unit = functional.normalize(vectors, dim=1)
    found = []
    for start in range(0, len(rows), block):
        part = torch.from_numpy(rows[start : start + block])
        similarity = unit[part] @ unit.T
        similarity[torch.arange(len(part)), part] = -torch.inf
        found.append(_largest(similarity, k))
    return torch.cat(found)


def _largest(similarity: Tensor, k: int) -> Tensor:
    """Columns of the k largest of each row; of equal ones the first, whatever else there is."""
    least = similarity.topk(k, dim=1).values[:, -1:]
    rows, columns = (each.numpy() for each in (similarity >= least).nonzero(as_tuple=True))
    order = np.lexsort((columns, -similarity[rows, columns].numpy(), rows))
    first = np.searchsorted(rows, np.arange(len(similarity)))  # rows are sorted
    return torch.from_numpy(columns[order][first[:, None] + np.arange(k)])
