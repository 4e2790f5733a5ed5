"""Known answers of queries: which candidates the filter leaves out.

Nothing is sorted or packed but the edges that answer a query. Those with a head are found in the
sorted edges, those with a tail by one pass over a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgsync.graph.active import Active, TripleRows
from kgsync.graph.snapshot import Snapshot, contains, occurrences, places

__all__ = ["Answers", "KnownTriples", "Side", "answers_among"]

Side = Literal["head", "tail"]

Numbers = NDArray[np.int64]
Keys = NDArray[np.uint64]
_LOW = np.uint64((1 << 32) - 1)


@dataclass(frozen=True)
class Answers:
    """Known answers of some pairs of an entity and a relation."""

    pairs: Keys
    """The pairs that were asked for, sorted."""
    start: Numbers
    """For each pair where its answers begin; one more for the end."""
    entities: NDArray[Any]
    """The answers, pair after pair, each time ascending."""

    def numbers(self, given: NDArray[Any], relation: NDArray[Any]) -> Numbers:
        """For each query the number of its pair, which is here; many may have the same."""
        return np.searchsorted(self.pairs, _pair_keys(given, relation))

    def among(self, candidates: Numbers) -> Answers:
        """Those that are among some entities, as their places there.

        Args:
            candidates: The entities, ascending.
        """
        place = places(candidates, self.entities)
        found = place >= 0
        start = np.append(0, np.cumsum(found))[self.start]
        return Answers(self.pairs, start, place[found])

    def contain(self, numbers: Numbers, entities: NDArray[Any]) -> NDArray[np.bool_]:
        """For each pair, given by its number, whether an entity is one of its answers."""
        return contains(self._keys, _pair_keys(numbers, entities))

    def before(self, added: Answers, deleted: Answers) -> Answers:
        """The answers of the version before, of the same pairs.

        Args:
            added: The answers among the edges that have been added since.
            deleted: Those among the edges that have been deleted.
        """
        left = self._keys[~contains(added._keys, self._keys)]
        return self._of(np.sort(np.concatenate([left, deleted._keys])))

    def as_rows(self, active: Active) -> Answers:
        """The same, if these are ids, as the rows of a version; they are in the order of ids."""
        given = np.searchsorted(active.entities, (self.pairs >> np.uint64(32)).astype(np.int32))
        relation = np.searchsorted(active.relations, (self.pairs & _LOW).astype(np.int32))
        rows = np.searchsorted(active.entities, self.entities)
        return Answers(_pair_keys(given, relation), self.start, rows)

    def _of(self, keys: Keys) -> Answers:
        """Other answers of the same pairs."""
        start = np.searchsorted(keys >> np.uint64(32), np.arange(len(self.start)))
        return Answers(self.pairs, start, (keys & _LOW).astype(np.int64))

    @property
    def _keys(self) -> Keys:
        """Number of the pair and answer as one number, sorted."""
        pair = np.repeat(np.arange(len(self.pairs)), np.diff(self.start))
        return _pair_keys(pair, self.entities)

    def know(self, given: NDArray[Any], relation: NDArray[Any]) -> bool:
        """Whether these pairs are here."""
        return bool(contains(self.pairs, _pair_keys(given, relation)).all())


class KnownTriples:
    """All positive triples of a version; finds the answers of queries."""

    def __init__(self, triples: TripleRows | Snapshot, active: Active | None = None) -> None:
        """Take the triples.

        Args:
            triples: Heads, relations and tails, as rows; or the edges of a version.
            active: The elements of the version, if it is edges; queries always are rows.
        """
        self._triples, self._active = triples, active
        self._found: dict[Side, Answers] = {}

    def find(self, side: Side, given: NDArray[Any], relation: NDArray[Any]) -> Answers:
        """The answers of these queries; the result may contain further pairs.

        Every validation has the same queries, so the last answers are remembered.

        Args:
            side: Which side is asked for.
            given: Entity rows of the other side.
            relation: Relation rows.
        """
        found = self._found.get(side)
        if found is None or not found.know(given, relation):
            found = self._found[side] = self._look(side, given, relation)
        return found

    def _look(self, side: Side, given: NDArray[Any], relation: NDArray[Any]) -> Answers:
        active = self._active
        if active is None:
            return answers_among(self._triples, side, given, relation)
        ids = active.entities[given], active.relations[relation]
        return answers_among(self._triples, side, *ids).as_rows(active)


def answers_among(
    triples: TripleRows | Snapshot,
    side: Side,
    given: NDArray[Any],
    relation: NDArray[Any],
    only: NDArray[np.bool_] | None = None,
) -> Answers:
    """Find the triples that answer queries.

    Args:
        triples: Heads, relations and tails, as rows; or edges.
        side: Which side is asked for.
        given: The entities of the other side.
        relation: The relations.
        only: For each entity, whether it is wanted among the answers; all are if it is None.
    """
    heads, relations, tails = triples.columns if isinstance(triples, Snapshot) else triples
    entities, answers = (heads, tails) if side == "tail" else (tails, heads)
    pairs = np.unique(_pair_keys(given, relation))
    if isinstance(triples, Snapshot) and side == "tail":
        at = triples.with_heads(np.unique(given))  # they are sorted by head: no pass over all
    else:
        at = occurrences(entities, given)
    if only is not None:
        at = at[only[answers[at]]]
    at = at[_mask(relation)[np.minimum(relations[at], int(relation.max(initial=0)) + 1)]]
    keys = _pair_keys(entities[at], relations[at])
    asked = contains(pairs, keys)
    pair, found = np.searchsorted(pairs, keys[asked]), answers[at[asked]]
    order = np.lexsort((found, pair))
    pair, found = pair[order], found[order]
    again = (pair[1:] == pair[:-1]) & (found[1:] == found[:-1])
    if again.any():
        once = np.append(True, ~again)
        pair, found = pair[once], found[once]
    return Answers(pairs, np.searchsorted(pair, np.arange(len(pairs) + 1)), found)


def _mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """For each number whether it is among the values; the last entry is for larger numbers."""
    mask = np.zeros(int(values.max(initial=0)) + 2, bool)
    mask[values] = True
    return mask


def _pair_keys(entities: NDArray[Any], relations: NDArray[Any]) -> Keys:
    keys: Keys = entities.astype(np.uint64) << np.uint64(32) | relations.astype(np.uint64)
    return keys
