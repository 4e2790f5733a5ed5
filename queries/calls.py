"""Which functions a query calls."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["functions_called"]


_ONLY_IRIS = re.compile(r"\{(?:\s*<[^<>\s]*>)+\s*\}")
"""Such a group calls nothing, and rdflib takes seconds to parse one of thousands."""


def functions_called(text: str) -> set[str] | None:
    """IRIs of the functions in a query, prefixes resolved; None if it cannot be parsed."""
    from rdflib.plugins.sparql.algebra import translateQuery, traverse
    from rdflib.plugins.sparql.parser import parseQuery
    from rdflib.plugins.sparql.parserutils import CompValue

    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, CompValue) and node.name == "Function":
            found.add(str(node.iri))

    try:
        traverse(translateQuery(parseQuery(_ONLY_IRIS.sub("{ }", text))).algebra, visitPre=visit)
    except Exception:  # noqa: BLE001  rdflib's parser shares no root of errors
        return None
    return found
