"""Convert between pyoxigraph terms and kgsync terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyoxigraph as ox

from kgsync.graph.port import Function, Term

__all__ = ["custom_functions", "full_term", "small_term", "term_text"]


def term_text(term: Any) -> str:
    """A term in the text form of triple batches."""
    return f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)


def small_term(value: Any) -> Term | None:
    """A term of a small result."""
    match value:
        case None:
            return None
        case ox.NamedNode():
            return Term("iri", value.value)
        case ox.BlankNode():
            return Term("blank", value.value)
        case ox.Literal():
            return Term("literal", value.value)
    return Term("literal", str(value))


def full_term(value: Any) -> Term | None:
    """A term with the datatype and language of a literal."""
    if not isinstance(value, ox.Literal):
        return small_term(value)
    return Term("literal", value.value, value.datatype.value, value.language)


def custom_functions(
    functions: Mapping[str, Function],
) -> dict[ox.NamedNode, Callable[..., Any]]:
    """Wrap functions over kgsync terms for pyoxigraph."""

    def over_theirs(function: Function) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            result = function(*map(full_term, arguments))
            return None if result is None else _their_term(result)

        return call

    return {ox.NamedNode(iri): over_theirs(function) for iri, function in functions.items()}


def _their_term(term: Term) -> Any:
    if term.kind != "literal":
        return ox.NamedNode(term.value) if term.kind == "iri" else ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype) if term.datatype else None)
