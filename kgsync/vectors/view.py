"""Reading a committed version: the vector of an IRI, its neighbours, plausible missing facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from kgsync.errors import ConfigError, UnknownTermError
from kgsync.state.committed import CommittedVersion
from kgsync.state.report import StepReport

if TYPE_CHECKING:
    from kgsync.models.base import Kind
    from kgsync.models.scoring import Scorer

__all__ = ["Neighbor", "Prediction", "Vector", "VectorView", "nearest", "unit_length"]

Vector = NDArray[np.float32]

_BLOCK = 1 << 24
"""Cosines that are computed at a time."""


@dataclass(frozen=True)
class Neighbor:
    """An element near another one."""

    iri: str
    similarity: float
    """Cosine of the two vectors."""


@dataclass(frozen=True)
class Prediction:
    """A candidate answer to a triple with one entity missing."""

    iri: str
    score: float
    """The model's score; only its order means something."""
    known: bool
    """Whether the graph has this triple already."""


class VectorView:
    """Vectors of one committed version, by IRI."""

    def __init__(self, version: CommittedVersion) -> None:
        """Read from a version; nothing is loaded yet."""
        self._version = version

    @property
    def version(self) -> int:
        """The number of the version."""
        return self._version.manifest.version

    @property
    def report(self) -> StepReport:
        """What the step did that made the version."""
        return StepReport.from_json(self._version.manifest.report)

    def embedding(self, iri: str) -> Vector:
        """The vector of an entity.

        Raises:
            UnknownTermError: It has none in this version (also a KeyError).
        """
        return self._vector(iri, "entity")

    def relation_embedding(self, iri: str) -> Vector:
        """The vector of a relation.

        Raises:
            UnknownTermError: It has none in this version (also a KeyError).
        """
        return self._vector(iri, "relation")

    def _vector(self, iri: str, kind: Kind) -> Vector:
        vector: Vector = self._version.tables[kind][self._row(iri, kind)].copy()
        return vector

    def iris(self, kind: Kind = "entity") -> Any:
        """The IRIs of the rows of a table, in their order, as an Arrow string array."""
        graph = self._version.graph
        if kind == "entity":
            return graph.terms.entities.names(graph.living.entities)
        return graph.terms.relations.names(graph.living.relations)

    def table(self, kind: Kind = "entity") -> Vector:
        """All vectors of a kind; not to be written into."""
        table: Vector = self._version.tables[kind]
        return table

    @overload
    def neighbors(self, iri: str, k: int = 10) -> list[Neighbor]: ...

    @overload
    def neighbors(self, iri: list[str], k: int = 10) -> list[list[Neighbor]]: ...

    def neighbors(self, iri: str | list[str], k: int = 10) -> list[Neighbor] | list[list[Neighbor]]:
        """The k entities whose vectors point most nearly the same way, nearest first.

        Args:
            iri: An entity; or several, for a list of neighbours each.
            k: How many.

        Raises:
            UnknownTermError: An IRI has no vector in this version.
        """
        if isinstance(iri, str):
            return self.neighbors([iri], k)[0]
        rows = [self._row(one, "entity") for one in iri]
        found = nearest(self._unit, np.array(rows, np.int64), k)
        return [
            [Neighbor(self._name(int(i)), float(value)) for i, value in zip(*pair, strict=True)]
            for pair in found
        ]

    def score(self, head: str, relation: str, tail: str) -> float:
        """How plausible the model finds a triple; only the order of scores means something.

        Raises:
            UnknownTermError: An IRI has no vector in this version.
        """
        row, relation_row = self._row(head, "entity"), self._row(relation, "relation")
        return self._scorer.score(row, relation_row, self._row(tail, "entity"))

    def predict(
        self,
        *,
        relation: str,
        head: str | None = None,
        tail: str | None = None,
        k: int = 10,
        new_only: bool = False,
    ) -> list[Prediction]:
        """The k most plausible entities for the missing head or tail, best first.

        The given entity itself is left out, unless the graph relates it to itself.

        Args:
            relation: IRI of the relation.
            head: IRI of the head, to predict tails.
            tail: IRI of the tail, to predict heads.
            k: How many.
            new_only: Leave out answers that the graph has already.

        Raises:
            ConfigError: Not exactly one of head and tail is given.
            UnknownTermError: A given IRI has no vector in this version.
        """
        if (head is None) == (tail is None):
            raise ConfigError("a prediction needs a relation and exactly one of head and tail")
        given = head if head is not None else tail
        assert given is not None
        row = self._row(given, "entity")
        relation_row = self._row(relation, "relation")
        score = self._scorer.tails if head is not None else self._scorer.heads
        scores = score(row, relation_row)
        known = self._known_answers(row, relation_row, tails=head is not None)
        if not known[row]:
            scores[row] = -np.inf  # that a thing is related to itself is rarely what is asked
        if new_only:
            scores[known] = -np.inf
        best = _largest(scores, min(k, len(scores)))
        return [
            Prediction(self._name(int(i)), float(scores[i]), bool(known[i]))
            for i in best
            if scores[i] > -np.inf
        ]

    @cached_property
    def _scorer(self) -> Scorer:
        return self._version.scorer()

    def _known_answers(self, row: int, relation: int, *, tails: bool) -> NDArray[np.bool_]:
        """For each entity row, whether the graph has it on the open side."""
        graph = self._version.graph
        given, asked = graph.edges.heads, graph.edges.tails
        if not tails:
            given, asked = asked, given
        matches = (given == graph.living.entities[row]) & (
            graph.edges.relations == graph.living.relations[relation]
        )
        return np.isin(graph.living.entities, asked[matches])

    @cached_property
    def _unit(self) -> Vector:
        return unit_length(self._version.tables["entity"])

    def _name(self, row: int) -> str:
        graph = self._version.graph
        return graph.terms.entities.name(int(graph.living.entities[row]))

    def _row(self, iri: str, kind: Kind) -> int:
        graph = self._version.graph
        terms, living = (
            (graph.terms.entities, graph.living.entities)
            if kind == "entity"
            else (graph.terms.relations, graph.living.relations)
        )
        id_ = terms.id(iri)
        if id_ is not None:
            row = int(np.searchsorted(living, id_))
            if row < len(living) and living[row] == id_:
                return row
            last = int(graph.last_seen[kind][id_])
            if last > 0:
                raise UnknownTermError(
                    f"the {kind} <{iri}> was deleted from the graph; "
                    f"the last version that has it is {last}"
                )
            raise UnknownTermError(f"the {kind} <{iri}> is left out by the filter settings")
        close = terms.similar(iri, living)
        hint = f"; did you mean {' or '.join(f'<{name}>' for name in close)}?" if close else ""
        raise UnknownTermError(f"there is no {kind} <{iri}>{hint}")


def unit_length(table: Vector) -> Vector:
    """The same directions, of length 1; zero stays zero."""
    length = np.linalg.norm(table, axis=1, keepdims=True)
    length[length == 0] = 1
    unit: Vector = (table / length).astype(np.float32)
    return unit


def nearest(
    unit: Vector, rows: NDArray[np.int64], k: int
) -> Iterator[tuple[NDArray[np.int64], Vector]]:
    """For each of some rows the k other rows of largest cosine, and the cosines, largest first."""
    at_a_time = max(1, _BLOCK // max(1, len(unit)))
    for start in range(0, len(rows), at_a_time):
        block = rows[start : start + at_a_time]
        similarity = unit[block] @ unit.T
        similarity[np.arange(len(block)), block] = -np.inf
        for line in similarity:
            best = _largest(line, min(k, len(unit) - 1))
            yield best, line[best]


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Positions of the k largest values, largest first."""
    if k <= 0:
        return np.empty(0, np.int64)
    top = np.argpartition(-values, k - 1)[:k]
    return top[np.argsort(-values[top], kind="stable")]
