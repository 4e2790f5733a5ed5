"""Which edges of a version are embedded: predicate lists and the minimum degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex

__all__ = ["EdgeFilter"]


@dataclass(frozen=True)
class EdgeFilter:
    """Selects the edges to embed from all edges of a version."""

    include: tuple[str, ...] = ()
    """Predicates to keep; empty keeps all."""
    exclude: tuple[str, ...] = ()
    """Predicates to drop."""
    min_degree: int = 1
    """Entities and relations in fewer edges are dropped, until none remain."""

    def apply(self, edges: Snapshot, terms: TermIndex) -> tuple[Snapshot, dict[str, int]]:
        """The edges to embed, and how many each rule dropped."""
        if self == EdgeFilter():
            return edges, {"excluded_predicates": 0, "below_min_degree": 0}
        by_predicate = self._by_predicate(edges, terms)
        kept = self._by_degree(by_predicate)
        dropped = {
            "excluded_predicates": len(edges) - len(by_predicate),
            "below_min_degree": len(by_predicate) - len(kept),
        }
        return kept, dropped

    @property
    def is_per_edge(self) -> bool:
        """Whether an edge is kept or dropped whatever the other edges are."""
        return self.min_degree <= 1

    def _by_predicate(self, edges: Snapshot, terms: TermIndex) -> Snapshot:
        if not self.include and not self.exclude:
            return edges
        allowed = np.full(len(terms.relations), not self.include)
        for wanted, predicates in ((True, self.include), (False, self.exclude)):
            for predicate in predicates:
                id_ = terms.relations.id(predicate)
                if id_ is not None:
                    allowed[id_] = wanted
        return edges.where(allowed[edges.relations])

    def _by_degree(self, edges: Snapshot) -> Snapshot:
        if self.min_degree <= 1:
            return edges
        while len(edges):
            entity = np.bincount(edges.heads, minlength=int(edges.tails.max()) + 1)
            entity[: int(edges.tails.max()) + 1] += np.bincount(edges.tails)
            # A self-loop is one edge of its entity.
            loops = edges.heads[edges.heads == edges.tails]
            np.subtract.at(entity, loops, 1)
            relation = np.bincount(edges.relations)
            keep = (
                (entity[edges.heads] >= self.min_degree)
                & (entity[edges.tails] >= self.min_degree)
                & (relation[edges.relations] >= self.min_degree)
            )
            if keep.all():
                break
            edges = edges.where(keep)
        return edges
