"""Collecting streamed triples as columns of numbers; the terms never become Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgsync.common.rdf_terms import VALID_IRI
from kgsync.graph.port import TripleBatch
from kgsync.graph.snapshot import KeyLayout, Snapshot
from kgsync.graph.terms import Ids, TermIndex

__all__ = ["Rows", "Skipped"]

_LITERAL, _BLANK, _INVALID, _QUOTED = -1, -2, -3, -4
_WAITING_BYTES = 1 << 22


@dataclass(frozen=True)
class Skipped:
    """Triples of a version that cannot be edges, by reason. Each is counted once."""

    literals: int = 0
    blank_nodes: int = 0
    invalid_iris: int = 0
    quoted_triples: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(vars(self).values())

    def plus(self, other: Skipped, sign: int = 1) -> Skipped:
        """These counts with others added or taken away."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Skipped(*(a + sign * b for a, b in pairs))


class Rows:
    """Collects streamed triples."""

    def __init__(self) -> None:
        self.total = 0
        self._waiting: list[TripleBatch] = []
        self._entities, self._relations = _Vocabulary(), _Vocabulary()
        self._columns = [(np.empty(0, np.int32),) * 3]
        self._skipped = np.zeros(5, np.int64)

    def receive(self, batch: TripleBatch) -> None:
        """Take a batch."""
        if not batch.num_rows:
            return
        self.total += batch.num_rows
        self._waiting.append(batch)
        # Numbering passes over all known terms again, so as many wait until it is worth it.
        waiting = sum(batch.nbytes for batch in self._waiting)
        if waiting >= max(_WAITING_BYTES, self._entities.terms.nbytes):
            self._number()

    def skipped(self) -> Skipped:
        """How many rows are not edges, by reason."""
        self._number()
        return Skipped(
            *(int(self._skipped[-code]) for code in (_LITERAL, _BLANK, _INVALID, _QUOTED))
        )

    def edges(self, terms: TermIndex) -> tuple[Snapshot, TermIndex]:
        """The edges under ids of an index extended by their terms; the rows are used up."""
        self._number()
        entities, predicates = self._entities.iris(), self._relations.iris()
        terms = terms.extended(
            _occurring(entities, (ids for h, _, t in self._columns for ids in (h, t))),
            _occurring(predicates, (ids for _, ids, _ in self._columns)),
        )
        entity_ids, relation_ids = terms.entities.ids(entities), terms.relations.ids(predicates)
        _release()
        layout = KeyLayout.for_sizes(*terms.sizes)
        keys = np.concatenate(
            [
                layout.pack(entity_ids[h], relation_ids[r], entity_ids[t])
                for h, r, t in self._columns
            ]
        )
        self._columns.clear()
        return Snapshot.of_keys(layout, keys), terms

    def _number(self) -> None:
        if not self._waiting:
            return
        heads, predicates, tails = zip(*(b.columns for b in self._waiting), strict=True)
        self._waiting.clear()
        head, tail = np.split(self._entities.numbers([*heads, *tails]), 2)
        relation = self._relations.numbers(predicates)
        # A skipped row counts once, for its object first: that is where literals are.
        reason = np.where(tail < 0, tail, np.where(head < 0, head, relation))
        edge = reason >= 0
        self._skipped += np.bincount(-reason[~edge], minlength=5)
        self._columns.append((head[edge], relation[edge], tail[edge]))
        _release()


class _Vocabulary:
    """Numbers the valid IRIs of a stream in the order of their arrival."""

    def __init__(self) -> None:
        self.terms = pa.array([], pa.string())

    def numbers(self, columns: Sequence[Any]) -> Ids:
        """The rows of columns, one after the other, as numbers; a reason where there is none."""
        known = len(self.terms)
        texts = pa.chunked_array([self.terms, *(column.dictionary for column in columns)])
        encoded = texts.dictionary_encode().chunks[-len(columns) :]  # empty chunks are left out
        terms = encoded[0].dictionary
        numbers = np.arange(len(terms), dtype=np.int32)
        valid = np.asarray(pc.match_substring_regex(terms[known:], VALID_IRI))
        numbers[known:] = np.where(valid, known + np.cumsum(valid) - 1, _reasons(terms[known:]))
        self.terms = terms.filter(pa.array(numbers >= 0))
        pairs = zip(encoded, columns, strict=True)
        return np.concatenate([numbers[_indices(e)[_indices(c)]] for e, c in pairs])

    def iris(self) -> Any:
        """The terms by number, brackets off."""
        return pc.utf8_slice_codeunits(self.terms, 1, -1)


def _indices(column: Any) -> Ids:
    return np.asarray(column.indices)


def _reasons(terms: Any) -> Ids:
    """Why each term cannot be part of an edge, if it is not a valid IRI."""
    reasons = np.full(len(terms), _LITERAL, np.int32)
    for start, reason in (("_:", _BLANK), ("<", _INVALID), ("<<", _QUOTED)):
        reasons[np.asarray(pc.starts_with(terms, start))] = reason
    return reasons


def _release() -> None:
    """Give the memory of dropped tables back: Arrow would keep it for later, several times over."""
    pa.default_memory_pool().release_unused()


def _occurring(iris: Any, columns: Iterable[Ids]) -> Any:
    """The IRIs whose numbers are in the columns: one that is only in skipped rows gets no id."""
    occurs = np.zeros(len(iris), bool)
    for column in columns:
        occurs[column] = True
    return iris if occurs.all() else iris.filter(pa.array(occurs))
