"""SPARQL results in JSON, for small results."""

from __future__ import annotations

import json
from typing import Literal

from kgsync.adapters.sparql.dialects import cut_after
from kgsync.adapters.sparql.failures import HalfwayError
from kgsync.adapters.sparql.http import Answer
from kgsync.common.rdf_terms import XSD
from kgsync.errors import TransientStoreError
from kgsync.graph.port import Term
from kgsync.graph.table import Table

__all__ = ["check_limit", "rows_of_json", "table_of_json"]

_LARGE = 1 << 31
"""Bytes of what a user asked for; the endpoint's own limit holds as well."""
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors for a document that is not JSON, has another shape, or is nested too deeply."""


def rows_of_json(answer: Answer) -> list[tuple[Term | None, ...]]:
    """The rows of a SELECT in JSON, all of them."""
    check_limit(answer)
    try:
        document = json.loads(answer.text())
        names = document["head"]["vars"]
        bindings = document["results"]["bindings"]
        rows = [tuple(_term(row.get(name)) for name in names) for row in bindings]
    except _MALFORMED as error:
        raise TransientStoreError(f"the response is not a SPARQL result: {error!r}") from error
    return rows


def table_of_json(answer: Answer) -> Table:
    """The result of a SELECT or an ASK in JSON."""
    check_limit(answer)
    try:
        document = json.loads(answer.text(_LARGE))
        if "boolean" in document:
            truth = "true" if document["boolean"] else "false"
            return Table(("answer",), [(Term("literal", truth, f"{XSD}boolean"),)])
        names = tuple(document["head"]["vars"])
        bindings = document["results"]["bindings"]
        rows = [tuple(_full_term(row.get(name)) for name in names) for row in bindings]
    except _MALFORMED as error:
        raise TransientStoreError(f"the response is not a SPARQL result: {error!r}") from error
    return Table(names, rows)


def check_limit(answer: Answer) -> None:
    """Reject a result that the endpoint reports as truncated.

    Raises:
        TransientStoreError: The result is truncated.
    """
    if limit := cut_after(answer.headers):
        raise HalfwayError(f"the response was cut off after {limit} rows")


def _term(value: dict[str, str] | None) -> Term | None:
    if value is None:
        return None
    kinds: dict[str, Literal["iri", "blank"]] = {"uri": "iri", "bnode": "blank"}
    return Term(kinds.get(value["type"], "literal"), value["value"])


def _full_term(value: dict[str, str] | None) -> Term | None:
    """A term with the datatype and language of a literal."""
    term = _term(value)
    if value is None or term is None or term.kind != "literal":
        return term
    language = value.get("xml:lang")
    plain = None if language else f"{XSD}string"
    return term._replace(datatype=value.get("datatype", plain), language=language)
