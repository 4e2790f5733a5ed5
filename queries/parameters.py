"""What a query takes: its declared placeholders, and values as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from kgsync.common.rdf_terms import bare_iri
from kgsync.errors import ConfigError
from kgsync.queries.rendering import KINDS, Value

__all__ = ["Filled", "Parameter", "declared", "is_open"]

Filled = str | list[str] | None
"""What a sync fills in; None leaves a placeholder open."""

_OPEN = "*"
"""Given as a value: leave the placeholder a variable."""

_DECLARATION = re.compile(
    r"^#[ \t]*\$(?P<name>\w+):[ \t]*(?P<kind>\w+)"
    r"(?:[ \t]*=[ \t]*(?:\"(?P<quoted>[^\"\n]*)\"|(?P<plain>\S+)))?(?P<about>[^\n]*)$",
    re.MULTILINE,
)
_UNKNOWN = {
    "at": "no version was given",
    "current": "there is no version yet",
    "entities": "there is no version yet",
    "metadata": "nothing was published",
    "previous": "there is no version before this one",
    "source": "the graph of this version is the default graph, which has no name",
}
"""Why a sync may not know what it should fill in."""
_LISTS = ("iris", "literals", "values")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Parameter:
    """One declared placeholder."""

    name: str
    kind: str
    default: str | None = None
    """What it is if nothing is given; `?name` is something that the sync knows."""
    about: str = ""

    @property
    def optional(self) -> bool:
        """Whether a query can be run without a value for it."""
        return self.default is not None

    @property
    def known_as(self) -> str | None:
        """The name of what the sync fills in; without a sync it stays a variable."""
        default = self.default or ""
        return default[1:] if default.startswith("?") else None

    def filled_in(self, known: Mapping[str, Filled]) -> Filled:
        """What a sync puts here; None if it leaves it open.

        Raises:
            ConfigError: The sync does not know it.
        """
        name = self.known_as
        assert name is not None
        if name in known:
            return known[name]
        if name not in _UNKNOWN:
            names = ", ".join(f"?{one}" for one in sorted(_UNKNOWN))
            raise ConfigError(
                f"${self.name} has the default ?{name}, but a sync can fill in only {names}"
            )
        raise ConfigError(
            f"${self.name} cannot be filled in: {_UNKNOWN[name]}; give {self.name}=..., of type "
            f"{self.kind}, or {self.name}={_OPEN} for all values"
        )

    def left_open(self, given: object) -> bool:
        """Whether a value says to leave this placeholder a variable.

        Raises:
            ConfigError: A list cannot be one.
        """
        if self.known_as is None or not is_open(given):
            return False
        if self.kind in _LISTS:
            raise ConfigError(f"${self.name} is a list and needs values")
        return True

    def read(self, given: object) -> Value:
        """The value that a text, a number or a list of texts stands for.

        Raises:
            ConfigError: It does not fit the type.
        """
        if isinstance(given, list | tuple) and self.kind not in _LISTS:
            if len(given) != 1:
                raise ConfigError(f"${self.name} takes one value; given: {len(given)}")
            given = given[0]
        value: Value | None = None
        match self.kind, given:
            case "integer", str():
                value = int(given) if _INTEGER.fullmatch(given.strip()) else None
            case "decimal", str():
                value = _decimal(given)
            case "literal", int():
                value = str(given)
            case "iri", str():
                value = bare_iri(given)
            case (("iris" | "literals" | "values"), Iterable()):
                texts = [given] if isinstance(given, str) else [str(one) for one in given]
                value = [bare_iri(t) for t in texts] if self.kind == "iris" else texts
            case (("integer" | "decimal"), int() | float() | Decimal()):
                value = given
            case (("age" | "literal"), str()):
                value = given
        if value is None or isinstance(given, bool):
            raise self._error(given)
        return value

    def _error(self, given: object) -> ConfigError:
        if self.kind in ("expression", "ntriples", "pattern"):
            return ConfigError(
                f"${self.name} is of type {self.kind}, which cannot be given as text"
            )
        like = {"integer": "10", "decimal": "0.05", "iri": "http://example.org/x", "age": "7d"}
        hint = f", like {like[self.kind]}" if self.kind in like else ""
        return ConfigError(f"${self.name} must be of type {self.kind}{hint}, not {given!r}")


def is_open(given: object) -> bool:
    """Whether a value, or the only one of a list, says to leave a placeholder a variable."""
    return given == _OPEN or (isinstance(given, list | tuple) and list(given) == [_OPEN])


def declared(query: str, text: str) -> dict[str, Parameter]:
    """The placeholders that a text declares, by name.

    Raises:
        ConfigError: One has a type that there is not.
    """
    found = {}
    for match in _DECLARATION.finditer(text):
        name, kind = match["name"], match["kind"]
        if kind not in KINDS:
            raise ConfigError(
                f"query {query}: ${name} has the unknown type {kind}; known types: "
                f"{', '.join(KINDS)}"
            )
        default = match["quoted"] if match["quoted"] is not None else match["plain"]
        found[name] = Parameter(name, kind, default, match["about"].strip())
    return found


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return None
