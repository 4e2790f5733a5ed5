"""In which order new elements get their initial vectors, and from which triples (alg. TDSM_init).

The order needs no vectors: it is computed first, and then all elements of the same dependency
depth can be initialised and pretrained together.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import TripleRows
from kgsync.models.base import Kind

__all__ = ["NewElement", "initialization_order"]

_EPSILON = 1e-6


@dataclass(frozen=True)
class NewElement:
    """A new entity or relation in its place in the order."""

    kind: Kind
    row: int
    informative: NDArray[np.int64]
    """Columns of its informative triples; empty if it keeps its pre-initialisation."""
    depth: int
    """0 without informative triples, else one more than the deepest new element in them."""


def initialization_order(
    train: TripleRows, new_entities: NDArray[np.int64], new_relations: NDArray[np.int64]
) -> list[NewElement]:
    """The new elements in the order of their initialisation.

    Args:
        train: Training triples of the new version as rows.
        new_entities: Rows of the new entities, in the order of their IRIs.
        new_relations: Rows of the new relations, in the order of their IRIs.
    """
    return _Queue(train, new_entities, new_relations).run()


class _Queue:
    """The priority queue with its counts, kept up to date triple by triple.

    Elements are numbered: relations first, then entities, each by IRI, which is also how ties are
    broken. A triple waits for those of its terms that are still in the queue.
    """

    def __init__(
        self,
        train: TripleRows,
        new_entities: NDArray[np.int64],
        new_relations: NDArray[np.int64],
    ) -> None:
        members = _members(train, new_entities, new_relations)
        self._relations = len(new_relations)
        self._rows = [*new_relations.tolist(), *new_entities.tolist()]
        self._columns = np.flatnonzero((members >= 0).any(axis=0))
        members = members[:, self._columns]
        count = len(self._rows)
        self._terms = [[term for term in terms if term >= 0] for terms in members.T.tolist()]
        self._waiting = [len(terms) for terms in self._terms]
        self._triples: list[list[int]] = [[] for _ in range(count)]
        self._informative: list[list[int]] = [[] for _ in range(count)]
        self._uninformative = [0] * count
        self._depth = [0] * count
        self._queued = [True] * count

    def run(self) -> list[NewElement]:
        for triple, terms in enumerate(self._terms):
            # A self-loop has one term for both ends, which it waits for twice: so it never comes
            # to be informative for it.
            for element in dict.fromkeys(terms) if len(terms) > 1 else terms:
                self._triples[element].append(triple)
                if len(terms) == 1:
                    self._informative[element].append(triple)
                else:
                    self._uninformative[element] += 1
        heap = [(-self._priority(element), element) for element in range(len(self._rows))]
        heapq.heapify(heap)
        order = []
        while heap:
            priority, element = heapq.heappop(heap)
            if not self._queued[element] or -priority != self._priority(element):
                continue  # an older entry of an element whose priority has changed
            self._queued[element] = False
            order.append(self._started(element))
            for other in self._release(element):
                heapq.heappush(heap, (-self._priority(other), other))
        return order

    def _priority(self, element: int) -> float:
        return len(self._informative[element]) / (self._uninformative[element] + _EPSILON)

    def _started(self, element: int) -> NewElement:
        triples = self._informative[element]
        if triples:
            depth, terms = self._depth, self._terms
            depth[element] = 1 + max(depth[term] for triple in triples for term in terms[triple])
        kind: Kind = "relation" if element < self._relations else "entity"
        columns = self._columns[np.array(sorted(triples), dtype=np.int64)]
        return NewElement(kind, self._rows[element], columns, self._depth[element])

    def _release(self, element: int) -> set[int]:
        """Tell the elements that only waited for this one; returns those whose counts changed."""
        initialised = bool(self._informative[element])
        changed = set()
        for triple in self._triples[element]:
            terms = self._terms[triple]
            self._waiting[triple] -= terms.count(element)
            if self._waiting[triple] != 1:
                continue
            last = next(term for term in terms if self._queued[term])
            self._uninformative[last] -= 1
            if initialised:
                # To the letter: a triple released by an element that got no vector of its own
                # leaves the uninformative ones and does not become informative.
                self._informative[last].append(triple)
            changed.add(last)
        return changed


def _members(
    train: TripleRows, new_entities: NDArray[np.int64], new_relations: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each triple the element numbers of head, relation and tail; -1 where a term is old."""
    heads, relations, tails = train
    size = int(max(heads.max(initial=-1), tails.max(initial=-1), new_entities.max(initial=-1))) + 1
    entity = np.full(size, -1, np.int64)
    entity[new_entities] = np.arange(len(new_entities)) + len(new_relations)
    size = int(max(relations.max(initial=-1), new_relations.max(initial=-1))) + 1
    relation = np.full(size, -1, np.int64)
    relation[new_relations] = np.arange(len(new_relations))
    return np.stack([entity[heads], relation[relations], entity[tails]])
