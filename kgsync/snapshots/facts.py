"""Facts of a raw data set in columns of ids, with the time of each where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgsync.errors import ConfigError
from kgsync.graph.filters import EdgeFilter
from kgsync.graph.snapshot import KeyLayout, Keys, Snapshot, contains
from kgsync.graph.terms import Ids, TermIndex

__all__ = ["Facts", "Times"]

Times = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts in the order of their source; one may be stated several times."""

    terms: TermIndex
    heads: Ids
    relations: Ids
    tails: Ids
    times: Times | None = None
    dated: bool = False
    """Whether the times are seconds since 1970, else they are just numbers that grow."""

    @classmethod
    def of(
        cls,
        entities: Any,
        relations: Any,
        columns: tuple[Ids, Ids, Ids],
        times: Times | None = None,
        *,
        dated: bool = False,
    ) -> Facts:
        """Facts as positions in Arrow arrays of IRIs.

        Args:
            entities: IRIs of the entities; those that no fact uses are left out.
            relations: IRIs of the relations.
            columns: Positions of heads, relations and tails.
            times: When each fact was known.
            dated: Whether the times are seconds since 1970.
        """
        heads, predicates, tails = columns
        terms = TermIndex().extended(
            _used(entities, np.concatenate([heads, tails])), _used(relations, predicates)
        )
        entity, relation = terms.entities.ids(entities), terms.relations.ids(relations)
        return cls(terms, entity[heads], relation[predicates], entity[tails], times, dated)

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def layout(self) -> KeyLayout:
        """The key layout of all these facts."""
        return KeyLayout.for_sizes(*self.terms.sizes)

    @cached_property
    def keys(self) -> Keys:
        """The key of each fact, in the order of the facts."""
        return self.layout.pack(self.heads, self.relations, self.tails)

    def snapshot(self) -> Snapshot:
        """All facts as one set of edges."""
        return Snapshot.of_keys(self.layout, self.keys.copy())

    def with_min_degree(self, degree: int) -> Facts:
        """The facts whose entities and relations are each in at least so many edges.

        What falls below is dropped again and again until nothing does, as for the paper's NELL5.

        Raises:
            ConfigError: Nothing is left.
        """
        if degree <= 1:
            return self
        kept, _ = EdgeFilter(min_degree=degree).apply(self.snapshot(), self.terms)
        if not len(kept):
            raise ConfigError(f"no facts remain with a minimum degree of {degree}; lower it")
        mask = contains(kept.keys(self.layout), self.keys)
        return Facts(
            self.terms,
            self.heads[mask],
            self.relations[mask],
            self.tails[mask],
            None if self.times is None else self.times[mask],
            self.dated,
        )


def _used(iris: Any, positions: Ids) -> Any:
    return iris.filter(pa.array(np.bincount(positions, minlength=len(iris)) > 0))
