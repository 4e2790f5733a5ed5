"""Small graphs for the tests of training: versions given as plain triples of ids, by part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kgsync.common.seeds import Seeds
from kgsync.config import Settings
from kgsync.graph.active import Active, TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Part, Split
from kgsync.graph.terms import TermIndex
from kgsync.training.problem import Problem

Triple = tuple[int, int, int]


def as_rows(triples: Iterable[Triple]) -> TripleRows:
    """Triples as columns of rows."""
    return np.array(list(triples), np.int64).reshape(-1, 3).T


def as_triples(rows: TripleRows) -> list[Triple]:
    """Columns of rows as triples."""
    return [(h, r, t) for h, r, t in rows.T.tolist()]


def snapshot(triples: Iterable[Triple]) -> Snapshot:
    """A snapshot of triples of ids in any order."""
    heads, relations, tails = as_rows(triples).astype(np.int32)
    return Snapshot.of(heads, relations, tails) if len(heads) else Snapshot.empty()


def named_terms(edges: Snapshot) -> TermIndex:
    """Terms for ids: the IRI of an id sorts as the id does."""
    counts = (int(max(ids, default=-1)) + 1 for ids in (edges.entities, edges.relation_ids))
    entities, relations = (pa.array([f"urn:{i:09d}" for i in range(n)]) for n in counts)
    return TermIndex().extended(entities, relations)


@dataclass(frozen=True)
class Version:
    """The triples of one version by part."""

    train: tuple[Triple, ...]
    validation: tuple[Triple, ...] = ()
    test: tuple[Triple, ...] = ()

    @property
    def edges(self) -> Snapshot:
        """All triples."""
        return snapshot(self.train + self.validation + self.test)

    @property
    def active(self) -> Active:
        """The elements that occur."""
        return Active.of(self.edges)

    def problem(self, settings: Settings, *, seed: int = 0) -> Problem:
        """This version, ready to be trained on."""
        split = Split(snapshot(self.train), snapshot(self.validation), snapshot(self.test))
        terms = named_terms(self.edges)
        return Problem(self.active, split, self.edges, terms, settings, Seeds(seed, "a version"))

    def change_to(self, new: Version) -> ChangeSet:
        """The change that leads to another version."""
        added, deleted = new.edges.minus(self.edges), self.edges.minus(new.edges)
        before, after = self.active, new.active
        return ChangeSet(
            added,
            deleted,
            new._parts(added),
            self._parts(deleted),
            np.setdiff1d(after.entities, before.entities),
            np.setdiff1d(before.entities, after.entities),
            np.setdiff1d(after.relations, before.relations),
            np.setdiff1d(before.relations, after.relations),
        )

    def _parts(self, edges: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        parts = {
            Part.TRAIN: set(self.train),
            Part.VALIDATION: set(self.validation),
            Part.TEST: set(self.test),
        }
        columns = zip(*(column.tolist() for column in edges.columns), strict=True)
        owners = [next(part for part in Part if edge in parts[part]) for edge in columns]
        return np.array(owners, np.uint8)


def ring(entities: int, *steps: int) -> tuple[Triple, ...]:
    """Entities in a circle; relation i leads `steps[i]` places on."""
    return tuple(
        (entity, relation, (entity + step) % entities)
        for relation, step in enumerate(steps)
        for entity in range(entities)
    )


def grid(side: int, *moves: tuple[int, int]) -> list[Triple]:
    """The fields of a square board; relation i is the i-th move, wherever it stays on the board."""
    return [
        (x * side + y, relation, (x + right) * side + y + up)
        for relation, (right, up) in enumerate(moves)
        for x in range(side)
        for y in range(side)
        if 0 <= x + right < side and 0 <= y + up < side
    ]


def communities(count: int, size: int) -> list[Triple]:
    """Relation 0 joins the members of a community, relation 1 those of two partner communities."""
    people = range(count * size)
    within = [(a, 0, b) for a in people for b in people if a != b and a // size == b // size]
    across = [(a, 1, b) for a in people for b in people if b // size == (a // size) ^ 1]
    return within + across


def held_out(triples: Iterable[Triple], share: float = 0.1, seed: int = 0) -> Version:
    """A version with the given share of its triples in validation, and as many in test."""
    shuffled = sorted(triples)
    np.random.default_rng(seed).shuffle(shuffled)
    count = int(share * len(shuffled))
    return Version(
        train=tuple(shuffled[2 * count :]),
        validation=tuple(shuffled[:count]),
        test=tuple(shuffled[count : 2 * count]),
    )
