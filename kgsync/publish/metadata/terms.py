"""Converts rdflib terms to pyoxigraph terms, which are validated."""

from __future__ import annotations

import pyoxigraph as ox
from rdflib import Graph, Literal, URIRef
from rdflib.term import Node

from kgsync.errors import ConfigError

__all__ = ["oxigraph_triples"]


def oxigraph_triples(graph: Graph) -> list[ox.Triple]:
    """The triples of a graph without blank nodes.

    Raises:
        ConfigError: A store would refuse a term.
    """
    try:
        return [ox.Triple(_name(s), _name(p), _term(o)) for s, p, o in graph]
    except ValueError as error:
        raise ConfigError(f"invalid triples: {error}") from None


def _name(term: Node) -> ox.NamedNode:
    return ox.NamedNode(str(term))


def _term(term: Node) -> ox.NamedNode | ox.Literal:
    if isinstance(term, URIRef):
        return ox.NamedNode(str(term))
    datatype = term.datatype if isinstance(term, Literal) else None
    return ox.Literal(str(term), datatype=ox.NamedNode(str(datatype)) if datatype else None)
