"""SPARQL functions over vectors: similarity, distance, lookup by IRI, the model's score.

A vector argument is a literal of one of our datatypes, or the IRI of an entity (or else of a
relation), whose vector then comes straight from the sidecar. What has no vector is unbound.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from math import sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kgsync.common.rdf_terms import KGE, XSD
from kgsync.errors import QueryError
from kgsync.graph.port import Function, Term
from kgsync.graph.terms import TermTable
from kgsync.publish.literals.datatypes import DATATYPES, decode, encode

__all__ = ["COSINE", "EUCLIDEAN", "FUNCTIONS", "SCORE", "VECTOR", "Functions", "Vectors"]

COSINE = "https://w3id.org/rdf-tensor/functions#cosineSimilarity"
EUCLIDEAN = "https://w3id.org/rdf-tensor/functions#euclideanDistance"
VECTOR = f"{KGE}vector"
SCORE = f"{KGE}score"
FUNCTIONS = (COSINE, EUCLIDEAN, VECTOR, SCORE)

_DOUBLE = f"{XSD}double"
_VERSION = re.compile(r"(?:.*[#:/]v)?([0-9]{1,18})")
_REMEMBERED = 256
"""Cached decoded vectors: one is usually compared with many."""
_SHOWN = 60


class Vectors(Protocol):
    """The vectors of one version, as `sync.at()` and `kgsync.load()` return them."""

    def iris(self, kind: Any) -> Any:
        """The IRIs of all "entity" or "relation" rows, as an Arrow string array."""

    def table(self, kind: Any) -> NDArray[np.float32]:
        """Their vectors, in the same order."""

    def score(self, head: str, relation: str, tail: str) -> float:
        """The model's score of a triple."""


class _Known(NamedTuple):
    vector: NDArray[np.float64]
    length: float


class _Rows:
    """The rows of one version by IRI."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._tables: dict[str, tuple[TermTable, NDArray[np.float32]]] = {}

    def find(self, iri: str) -> NDArray[np.float32] | None:
        """The vector of an entity, or else of a relation."""
        found = self._find("entity", iri)
        return self._find("relation", iri) if found is None else found

    def score(self, head: str, relation: str, tail: str) -> float | None:
        wanted = ("entity", head), ("entity", tail), ("relation", relation)
        if any(self._find(kind, iri) is None for kind, iri in wanted):
            return None
        return self._vectors.score(head, relation, tail)

    def _find(self, kind: str, iri: str) -> NDArray[np.float32] | None:
        if kind not in self._tables:
            self._tables[kind] = TermTable(self._vectors.iris(kind)), self._vectors.table(kind)
        terms, table = self._tables[kind]
        row = terms.id(iri)
        return None if row is None else table[row].reshape(-1)


class Functions:
    """The functions of one query, or of several that read the same version.

    A store treats an error inside a function as unbound. So the first error is kept, and `check`
    raises it.
    """

    def __init__(self, at: Callable[[int | None], Vectors]) -> None:
        """Set the vectors; nothing is read before a function needs it.

        Args:
            at: Gives the vectors of a version; of the one that is meant by default for None.
        """
        self._at = at
        self._rows: dict[int | None, _Rows] = {}
        self._error: QueryError | None = None
        self._known = lru_cache(_REMEMBERED)(self._read)
        self.by_iri: dict[str, Function] = {
            COSINE: self._guarded(COSINE, self._cosine),
            EUCLIDEAN: self._guarded(EUCLIDEAN, self._euclidean),
            VECTOR: self._guarded(VECTOR, self._vector),
            SCORE: self._guarded(SCORE, self._score),
        }

    def check(self) -> None:
        """Raise the first error of a function since the last check.

        Raises:
            QueryError: A vector was malformed, two differed in length, or a version is not there.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _guarded(self, name: str, function: Function) -> Function:
        parameters = signature(function).parameters.values()
        most, least = len(parameters), sum(p.default is p.empty for p in parameters)

        def call(*arguments: Term) -> Term | None:
            if self._error is not None:
                return None
            try:
                if not least <= len(arguments) <= most:
                    raise ValueError(f"it takes {_count(least, most)}, not {len(arguments)}")
                return function(*arguments)
            except Exception as error:  # noqa: BLE001  a store would treat any as "unbound"
                shown = ", ".join(map(_shown, arguments))
                reason = str(error) or type(error).__name__
                self._error = QueryError(f"<{name}>({shown}): {reason}")
                return None

        return call

    def _cosine(self, one: Term, other: Term) -> Term | None:
        pair = self._pair(one, other)
        if pair is None:
            return None
        lengths = pair[0].length * pair[1].length
        return _number(float(pair[0].vector @ pair[1].vector) / lengths if lengths else 0.0)

    def _euclidean(self, one: Term, other: Term) -> Term | None:
        pair = self._pair(one, other)
        return pair and _number(float(np.linalg.norm(pair[0].vector - pair[1].vector)))

    def _vector(self, iri: Term, version: Term | None = None) -> Term | None:
        found = self._of(version).find(iri.value) if iri.kind == "iri" else None
        if found is None:
            return None
        text = encode(found[np.newaxis], "list")[0].as_py()
        return Term("literal", text, DATATYPES["list"].iri)

    def _score(self, head: Term, relation: Term, tail: Term) -> Term | None:
        if {head.kind, relation.kind, tail.kind} != {"iri"}:
            return None
        score = self._of(None).score(head.value, relation.value, tail.value)
        return None if score is None else _number(score)

    def _pair(self, one: Term, other: Term) -> tuple[_Known, _Known] | None:
        first, second = self._known(*one[:3]), self._known(*other[:3])
        if first is None or second is None:
            return None
        if len(first.vector) != len(second.vector):
            raise ValueError(
                f"the vectors have {len(first.vector)} and {len(second.vector)} numbers"
            )
        return first, second

    def _read(self, kind: str, value: str, datatype: str | None) -> _Known | None:
        if kind == "literal":
            vector = decode(value, datatype or "")
        else:
            found = self._of(None).find(value) if kind == "iri" else None
            if found is None:
                return None
            vector = found
        precise = vector.astype(np.float64)
        return _Known(precise, sqrt(precise @ precise))

    def _of(self, version: Term | None) -> _Rows:
        number = None if version is None else _version_number(version)
        if number not in self._rows:
            self._rows[number] = _Rows(self._at(number))
        return self._rows[number]


def _number(value: float) -> Term:
    return Term("literal", repr(value), _DOUBLE)


def _version_number(version: Term) -> int:
    match = _VERSION.fullmatch(version.value)
    if match is None:
        raise ValueError(f"{version.value!r} is neither the number nor the IRI of a version")
    return int(match[1])


def _shown(term: Term) -> str:
    """A term as SPARQL writes it, cut where it is long."""
    if term.kind == "iri":
        return f"<{term.value}>"
    text = term.value if len(term.value) <= _SHOWN else term.value[:_SHOWN] + "…"
    return f'"{text}"^^<{term.datatype}>' if term.datatype else f'"{text}"'


def _count(least: int, most: int) -> str:
    return f"{least} or {most} arguments" if least < most else f"{most} arguments"
