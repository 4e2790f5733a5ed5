"""Convert streamed SPARQL XML results to rows of N-Triples text.

The slow and safe format: whatever is inside a term is escaped, line breaks and all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from kgsync.adapters.sparql.dialects import blank_node_label
from kgsync.common.rdf_terms import escaped
from kgsync.errors import TransientStoreError

__all__ = ["rows_of_xml"]

_SPARQL = "{http://www.w3.org/2005/sparql-results#}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_DEEPEST = 100
"""Elements inside each other; a triple as a term of a triple takes three."""
_LONGEST = 1 << 28
"""Bytes of one row, or of what is in its place."""


def rows_of_xml(pieces: Iterable[bytes]) -> Iterator[tuple[str, ...]]:
    """The rows, each with its terms in the order of the projection.

    Raises:
        TransientStoreError: The result is malformed or truncated, or a row lacks a term.
    """
    # Documents that grow without end by entities are refused by Expat itself.
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    names: list[str] = []
    depth: list[Element] = []
    ended = False
    since = 0
    try:
        for piece in _and_none(pieces):
            parser.close() if piece is None else parser.feed(piece)
            since += len(piece or b"")
            if since > _LONGEST:
                raise ValueError(f"more than {_LONGEST:,} bytes without a row")
            events: Any = parser.read_events()
            for event, element in events:
                if event == "start":
                    depth.append(element)
                    if len(depth) > _DEEPEST:
                        raise ValueError("elements are nested too deeply")
                    continue
                depth.pop()
                if element.tag == f"{_SPARQL}variable":
                    names.append(element.attrib["name"])
                elif element.tag == f"{_SPARQL}result":
                    yield _row(element, names)
                    since = 0
                    depth[-1].clear()  # free what was passed on
                elif element.tag == f"{_SPARQL}sparql":
                    ended = True
    except (ParseError, LookupError, ValueError) as error:
        raise TransientStoreError(f"the response is malformed: {error!r}") from error
    if not ended:
        raise TransientStoreError("the response is not a SPARQL result")


def _and_none(pieces: Iterable[bytes]) -> Iterator[bytes | None]:
    yield from pieces
    yield None


def _row(result: Element, names: list[str]) -> tuple[str, ...]:
    terms = {binding.attrib["name"]: _term(binding[0]) for binding in result}
    return tuple(terms[name] for name in names)


def _term(element: Element) -> str:
    text = element.text or ""
    match element.tag.removeprefix(_SPARQL):
        case "uri":
            return f"<{text}>"
        case "bnode":
            return f"_:{blank_node_label(text)}"
        case "literal":
            return _literal(element, text)
        case "triple":
            s, p, o = (_term(part[0]) for part in element)
            return f"<<( {s} {p} {o} )>>"
    raise ValueError(f"unknown kind of term: {element.tag}")


def _literal(element: Element, text: str) -> str:
    quoted = f'"{escaped(text)}"'
    if _LANGUAGE in element.attrib:
        return f"{quoted}@{element.attrib[_LANGUAGE]}"
    if "datatype" in element.attrib:
        return f"{quoted}^^<{element.attrib['datatype']}>"
    return quoted
