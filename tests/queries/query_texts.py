"""Texts for tests of the query loader: small queries, hostile values, and what a query does."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyoxigraph as ox
from hypothesis import strategies as st
from rdflib import Graph, Literal, URIRef
from rdflib.plugins.sparql.algebra import translateQuery, translateUpdate
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.parserutils import CompValue

from kgsync.queries import Query, parse

_EMPTY_STORE = ox.Store()

PIECES = [
    *"<>{}\"'\\|^`#$?;.,() \n\r\t\x00\x0b\x0c\x7f\x85\u2028\ufeff",
    '"""',
    "'''",
    "} } ; DROP ALL #",
    "> . ?a ?b ?c . <",
    "$x",
    "?s",
    "%3E",
    "a",
    "n",
    "ü",
    "😀",
    "http://example.org/",
]
hostile = st.lists(
    st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=8
).map("".join)


def shape(part: Any) -> Any:
    """What a parsed query does, less which IRIs and literals it does it with."""
    match part:
        case CompValue():
            return part.name, {key: shape(part[key]) for key in part if key != "_vars"}
        case URIRef() | Literal():
            return type(part).__name__
        case list() | tuple():
            return [shape(value) for value in part]
        case dict():
            return sorted(([shape(key), shape(value)] for key, value in part.items()), key=repr)
        case set() | frozenset():
            return sorted(map(str, part))
    return str(part)


@cache
def query_shape(text: str) -> Any:
    return shape(translateQuery(parseQuery(text)).algebra)


def update_shape(text: str) -> Any:
    return shape(translateUpdate(parseUpdate(text)).algebra)


def one(kind: str, body: str = "SELECT * WHERE { ?s ?p $x }") -> Query:
    """A query with one placeholder."""
    return parse("mine", f"# Mine.\n# $x: {kind}   a value\n{body}\n")


def in_rdflib(text: str) -> str:
    solutions: Any = Graph().query(text)
    (row,) = solutions
    return str(row[0])


def in_oxigraph(text: str) -> str:
    solutions: Any = _EMPTY_STORE.query(text)
    (row,) = solutions
    return str(row[0].value)
