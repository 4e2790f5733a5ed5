"""How a value becomes a piece of SPARQL: validated and escaped by its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from kgsync.common.durations import seconds_of
from kgsync.common.rdf_terms import XSD, are_iris, escaped, is_iri
from kgsync.errors import ConfigError

__all__ = ["KINDS", "Pattern", "Value", "check_iri", "rendered_values"]

_ESCAPED_U = re.compile(r"\\\\([uU])")
_DATE_TIME = f"{XSD}dateTime"
_LONGEST_DECIMAL = 40
"""Digits: an exponent can make millions of them."""


@dataclass(frozen=True)
class Pattern:
    """A bound piece of a query, only ever made by this package, with the prologue it needs."""

    text: str
    prologue: str = ""


Value = str | int | float | Decimal | Pattern | Iterable[Any]


def check_iri(value: str) -> str:
    """Return the IRI if it can stand between `<` and `>` unchanged.

    Raises:
        ConfigError: It is relative or has a character that IRIs exclude.
    """
    if not is_iri(value):
        raise ConfigError(f"not an absolute IRI: {value!r}")
    return value


def rendered_values(
    query: str, kinds: Mapping[str, str], values: Mapping[str, Value]
) -> dict[str, str]:
    """The pieces of SPARQL that the values of a query stand for, by placeholder.

    Args:
        query: Name of the query, for errors.
        kinds: Types of its placeholders.
        values: What to put there.

    Raises:
        ConfigError: A value does not fit its type.
    """
    return {name: _rendered(query, name, kinds[name], value) for name, value in values.items()}


def _rendered(query: str, name: str, kind: str, value: Value) -> str:
    types, write = _WRITERS.get(kind, ((), str))
    fits = isinstance(value, types) and not isinstance(value, bool)
    if types == (Iterable,):
        fits = fits and not isinstance(value, str)
    if not fits:
        raise ConfigError(f"query {query}: ${name} must be of type {kind}, not {value!r}")
    try:
        return write(value)
    except ConfigError as error:
        raise ConfigError(f"query {query}: ${name}: {error}") from None


def _bracketed(iri: str) -> str:
    return f"<{check_iri(iri)}>"


def _all_bracketed(values: Iterable[Any]) -> str:
    iris = [*map(str, values)]
    if not are_iris(iris):
        iris = [*map(check_iri, iris)]  # which names the first that is none
    return " ".join(f"<{iri}>" for iri in iris)


def _quoted(value: str) -> str:
    return f'"{_ESCAPED_U.sub(_spell_u, escaped(value))}"'


def _spell_u(match: re.Match[str]) -> str:
    return f"\\\\\\U{ord(match.group(1)):08X}"


def _decimal(value: float | Decimal) -> str:
    number = Decimal(str(value))
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST_DECIMAL:
        raise ConfigError(f"not a decimal number: {value!r}")
    text = f"{number:f}"
    return text if "." in text else f"{text}.0"


def _moment(age: str) -> str:
    """The time that is so long ago, to the second."""
    then = datetime.now(UTC) - timedelta(seconds=seconds_of(age, "an age"))
    return f'"{then:%Y-%m-%dT%H:%M:%SZ}"^^<{_DATE_TIME}>'


def _checked_triples(given: str | Iterable[Any]) -> str:
    """N-Triples: triples of pyoxigraph as they are; a text parsed and written anew.

    So nothing else can be between them.
    """
    import pyoxigraph as ox

    form = ox.RdfFormat.N_TRIPLES
    try:
        triples: Iterable[Any] = given
        if isinstance(given, str):
            triples = (quad.triple for quad in ox.parse(given.encode(), format=form))
        written = ox.serialize(triples, format=form)
    except (SyntaxError, TypeError) as error:
        raise ConfigError(f"malformed N-Triples: {error}") from None
    assert written is not None
    return written.decode()


_WRITERS: dict[str, tuple[tuple[type, ...], Callable[[Any], str]]] = {
    "age": ((str,), _moment),
    "decimal": ((int, float, Decimal), _decimal),
    "expression": ((Pattern,), lambda value: str(value.text)),
    "integer": ((int,), str),
    "iri": ((str,), _bracketed),
    "iris": ((Iterable,), _all_bracketed),
    "literal": ((str,), _quoted),
    "literals": ((Iterable,), lambda values: ", ".join(_quoted(str(one)) for one in values)),
    "ntriples": ((str, Iterable), _checked_triples),
    "pattern": ((Pattern,), lambda value: str(value.text)),
    "values": ((Iterable,), lambda values: " ".join(_quoted(str(one)) for one in values)),
}
KINDS = tuple(_WRITERS)
"""The types a placeholder may have."""
