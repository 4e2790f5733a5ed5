"""The informative triples of new elements, and false ones drawn for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kgsync.graph.hashing import Hashes, mix, unit_interval
from kgsync.graph.living import TripleRows, TripleSet
from kgsync.models.base import Kind
from kgsync.training.order import NewElement

__all__ = ["Evidence", "FalseTriples", "KeyedNegatives"]

_ROUNDS = 16


@dataclass(frozen=True)
class Evidence:
    """The informative triples of several new elements of one kind, element after element."""

    kind: Kind
    rows: NDArray[np.int64]
    """Row of each element."""
    triples: TripleRows
    owner: NDArray[np.int64]
    """Which element each triple is for."""
    number: NDArray[np.int64]
    """Position of each triple among those of its element."""

    @classmethod
    def of(cls, kind: Kind, elements: Sequence[NewElement], train: TripleRows) -> Evidence:
        """The evidence for elements of one kind."""
        sizes = [len(element.informative) for element in elements]
        return cls(
            kind,
            np.array([element.row for element in elements], np.int64),
            train[:, np.concatenate([element.informative for element in elements])],
            np.repeat(np.arange(len(elements)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
        )

    @property
    def row(self) -> NDArray[np.int64]:
        """For each triple the row of the element it is for."""
        row: NDArray[np.int64] = self.rows[self.owner]
        return row

    def where(self, mask: NDArray[np.bool_]) -> Evidence:
        """The triples a mask selects; the elements stay."""
        return Evidence(
            self.kind, self.rows, self.triples[:, mask], self.owner[mask], self.number[mask]
        )


@dataclass(frozen=True)
class FalseTriples:
    """Draws for every triple of some evidence."""

    triples: NDArray[np.int64]
    """Shape (3, draws, triples)."""
    possible: Tensor
    """Shape (draws, triples): whether there was a false triple to draw."""


class KeyedNegatives:
    """Draws false triples by numbers keyed by the element.

    So an element gets the same draws whether it is alone or among others. For an entity the other
    side is replaced, for a relation head or tail; replacements are entities that live in both
    versions, and a training triple is never drawn.
    """

    def __init__(
        self,
        known: TripleSet,
        survivors: NDArray[np.int64],
        hashes: dict[Kind, Hashes],
        seed: int,
    ) -> None:
        """Prepare to draw.

        Args:
            known: The training triples of the new version.
            survivors: Rows of the entities to draw from.
            hashes: For each kind, a number per row that belongs to the element for ever.
            seed: Another seed, other draws.
        """
        self._known = known
        self._survivors = survivors
        self._hashes = hashes
        self._seed = np.uint64(seed)

    def draw(self, evidence: Evidence, draws: int, epoch: int) -> FalseTriples:
        """So many false triples for each triple, fresh ones every epoch."""
        count = evidence.triples.shape[1]
        key = mix(self._hashes[evidence.kind][evidence.row] ^ self._seed)
        key = mix(key ^ evidence.number.astype(np.uint64))
        key = np.concatenate(
            [mix(key ^ np.uint64((epoch << 32) + number)) for number in range(draws)]
        )
        false = np.tile(evidence.triples, draws)
        if evidence.kind == "relation":
            side = np.where(key & np.uint64(1), 2, 0)
        else:
            side = np.tile(np.where(evidence.triples[0] == evidence.row, 2, 0), draws)
        open_ = np.arange(draws * count)
        for attempt in range(1, _ROUNDS + 1 if len(self._survivors) else 1):
            drawn = unit_interval(mix(key[open_] ^ np.uint64(attempt)))
            chosen = (drawn * len(self._survivors)).astype(np.int64)
            false[side[open_], open_] = self._survivors[chosen]
            open_ = open_[self._known.contains(false[:, open_])]
            if not len(open_):
                break
        possible = np.ones(draws * count, bool)
        possible[open_] = False
        return FalseTriples(
            false.reshape(3, draws, count), torch.from_numpy(possible.reshape(draws, count))
        )
