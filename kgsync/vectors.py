"""Reading a committed version: the vector of an IRI, its neighbours, plausible missing facts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from kgsync.committed import CommittedVersion
from kgsync.errors import ConfigError, UnknownTermError

if TYPE_CHECKING:
    from kgsync.models.base import Model

__all__ = ["Neighbor", "Prediction", "VectorView"]

Vector = NDArray[np.float32]
Kind = Literal["entity", "relation"]


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

    def vector(self, iri: str, kind: Kind = "entity") -> Vector:
        """The vector of one element.

        Raises:
            UnknownTermError: It has none in this version.
        """
        vector: Vector = self._version.tables[kind][self._row(iri, kind)].copy()
        return vector

    def neighbors(self, iri: str, k: int, kind: Kind = "entity") -> list[Neighbor]:
        """The k elements whose vectors point most nearly the same way, nearest first.

        Raises:
            UnknownTermError: The IRI has no vector in this version.
        """
        unit = self._unit[kind]
        row = self._row(iri, kind)
        similarity = unit @ unit[row]
        similarity[row] = -np.inf
        return [
            Neighbor(self._name(int(i), kind), float(similarity[i]))
            for i in _largest(similarity, min(k, len(unit) - 1))
        ]

    def predict(
        self, head: str | None, relation: str, tail: str | None, k: int, *, new_only: bool
    ) -> list[Prediction]:
        """The k most plausible entities for the open side of a triple, best first.

        The given entity itself is left out, unless the graph relates it to itself.

        Raises:
            ConfigError: Not exactly one of head and tail is given.
            UnknownTermError: A given IRI has no vector in this version.
        """
        if (head is None) == (tail is None):
            raise ConfigError("a prediction needs a relation and exactly one of head and tail")
        given = head if head is not None else tail
        assert given is not None
        import torch

        row = self._row(given, "entity")
        relation_row = self._row(relation, "relation")
        model = self._model
        anchor = model.rows("entity", torch.tensor([row]))
        predicate = model.rows("relation", torch.tensor([relation_row]))
        score = model.score_tails if head is not None else model.score_heads
        scores = score(anchor, predicate, model.rows("entity", slice(None)))[0].numpy()
        known = self._known_answers(row, relation_row, tails=head is not None)
        if not known[row]:
            scores[row] = -np.inf  # that a thing is related to itself is rarely what is asked
        if new_only:
            scores[known] = -np.inf
        best = _largest(scores, min(k, len(scores)))
        return [
            Prediction(self._name(int(i), "entity"), float(scores[i]), bool(known[i]))
            for i in best
            if scores[i] > -np.inf
        ]

    @cached_property
    def _model(self) -> Model:
        return self._version.model()

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
    def _unit(self) -> dict[Kind, Vector]:
        kinds: tuple[Kind, Kind] = ("entity", "relation")
        unit = {}
        for kind in kinds:
            table = self._version.tables[kind]
            length = np.linalg.norm(table, axis=1, keepdims=True)
            unit[kind] = table / np.where(length == 0, 1, length)
        return unit

    def _name(self, row: int, kind: Kind) -> str:
        graph = self._version.graph
        if kind == "entity":
            return graph.terms.entities.name(int(graph.living.entities[row]))
        return graph.terms.relations.name(int(graph.living.relations[row]))

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


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Positions of the k largest values, largest first."""
    if k <= 0:
        return np.empty(0, np.int64)
    top = np.argpartition(-values, k - 1)[:k]
    return top[np.argsort(-values[top], kind="stable")]
