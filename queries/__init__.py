"""The one place where SPARQL text is found, bound and escaped.

Every query is a `.rq` file beside this module. A leading underscore marks an internal one. The
comment head declares each placeholder with its type, a default where there is one, and what it is:

    # $graph: iri                 the named graph to read
    # $k: integer = 10            how many
    # $to: literal = ?current     filled in by a sync; a variable without one

In: a query name and values. Out: bound SPARQL text. May import: common, errors.

Values are validated and escaped by type, so that no IRI or string can change the query around it.
The types are iri, literal, integer, decimal, age ("7d": the time that long ago), the lists iris,
literals (for IN) and values (for VALUES), and, for internal queries, ntriples, pattern and
expression. The default of an expression is the name of the file that holds it:

    # $hash: expression = _expression_edge_hash
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kgsync.common.rdf_terms import is_iri, is_plain_iri
from kgsync.errors import ConfigError
from kgsync.queries.parameters import Filled, Parameter, declared, is_open
from kgsync.queries.rendering import Pattern, Value, check_iri, rendered_values

__all__ = [
    "Filled",
    "Parameter",
    "Pattern",
    "Query",
    "Value",
    "available",
    "check_iri",
    "is_iri",
    "is_open",
    "is_plain_iri",
    "load",
    "parse",
    "query_form",
    "scope_pattern",
]

_SPACE = r"(?:\s|#[^\n]*(?:\n|\Z))*"
_PROLOGUE = re.compile(
    rf"{_SPACE}(?:(?:BASE\s+<[^>]*>|PREFIX\s+[^\s:]*:\s*<[^>]*>){_SPACE})*", re.IGNORECASE
)
_HEAD = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))+")


@dataclass(frozen=True)
class Query:
    """One query file: its text, its one-line summary, and its declared placeholders."""

    name: str
    text: str
    parameters: Mapping[str, Parameter]

    @property
    def summary(self) -> str:
        """The first comment line of the file."""
        first = (self.text.lstrip().splitlines() or [""])[0]
        return first.lstrip("# ").rstrip() if first.startswith("#") else ""

    @property
    def placeholders(self) -> dict[str, str]:
        """Names and types."""
        return {name: parameter.kind for name, parameter in self.parameters.items()}

    def bind(self, **values: Value) -> str:
        """Return the query with every declared placeholder replaced.

        One that a sync would fill in stays a variable if no value is given.

        Raises:
            ConfigError: A name is missing or undeclared, or a value does not fit its type.
        """
        bound = self.pattern(**values)
        return "\n".join(text for text in (bound.prologue, bound.text) if text)

    def bind_given(self, given: Mapping[str, object], known: Mapping[str, Filled]) -> str:
        """Return the query with values as people write them.

        Args:
            given: Name -> text, number or list of texts; `*` leaves open what a sync fills in.
            known: What the sync knows, for placeholders with such a default; None leaves one open.

        Raises:
            ConfigError: A name is missing or undeclared, a value does not fit its type, or the sync
                does not know what it should fill in.
        """
        strange = given.keys() - self.parameters.keys()
        if strange:
            raise self._names_error(given)
        values = {}
        for name, parameter in self.parameters.items():
            value = given.get(name)
            try:
                if value is None and parameter.known_as is not None:
                    value = parameter.filled_in(known)
                if value is None or parameter.left_open(value):
                    continue
                values[name] = parameter.read(value)
            except ConfigError as error:
                raise ConfigError(f"query {self.name}: {error}") from None
        return self.bind(**values)

    def pattern(self, **values: Value) -> Pattern:
        """Bind this file as a group graph pattern for a `pattern` placeholder of another query."""
        missing = [p for p in self.parameters.values() if p.name not in values]
        if values.keys() - self.parameters.keys() or not all(p.optional for p in missing):
            raise self._names_error(values)
        for parameter in missing:
            if parameter.known_as is None:
                values[parameter.name] = _default_of(parameter)
        rendered = rendered_values(self.name, self.placeholders, values)
        body = _without_head(self.text).strip()
        if rendered:
            names = re.compile(r"\$(" + "|".join(map(re.escape, rendered)) + r")\b")
            body = names.sub(lambda match: rendered[match.group(1)], body)
        prologues = [v.prologue for v in values.values() if isinstance(v, Pattern)]
        return Pattern(body, "\n".join(dict.fromkeys(p for p in prologues if p)))

    def _names_error(self, given: Mapping[str, object]) -> ConfigError:
        needed = [p.name for p in self.parameters.values() if not p.optional]
        missing = [name for name in needed if name not in given]
        if missing and not given.keys() - self.parameters.keys():
            what = "parameters" if len(missing) > 1 else "parameter"
            how = " ".join(f"-p {name}=…" for name in missing)
            return ConfigError(f"query {self.name} needs the {what} {', '.join(missing)}: {how}")
        wanted = ", ".join(sorted(self.parameters)) or "none"
        names = ", ".join(sorted(given)) or "none"
        return ConfigError(f"query {self.name} takes the parameters {wanted}; given: {names}")


@cache
def load(name: str) -> Query:
    """Load the query file `<name>.rq`."""
    file = resources.files(__name__) / f"{name}.rq"
    if not file.is_file():
        raise ConfigError(f"there is no query named {name!r}; known: {', '.join(available())}")
    return parse(name, file.read_text(encoding="utf-8"))


def available() -> list[str]:
    """Names of the queries meant for users, sorted."""
    names = (f.name for f in resources.files(__name__).iterdir() if f.name.endswith(".rq"))
    return sorted(name.removesuffix(".rq") for name in names if not name.startswith("_"))


def parse(name: str, text: str) -> Query:
    """Make a query of a text in the same grammar, for instance a user's own file.

    Raises:
        ConfigError: A placeholder is declared with a type that there is not.
    """
    return Query(name, text, declared(name, text))


def query_form(text: str) -> str:
    """The word that a query begins with after its prologue, like SELECT; empty if there is none."""
    prologue = _PROLOGUE.match(text)
    assert prologue is not None
    word = re.match(r"[A-Za-z]*", text[prologue.end() :])
    return word[0].upper() if word else ""


def scope_pattern(name: str, text: str, graph: str | None) -> Pattern:
    """Turn a user's `SELECT ?s ?p ?o` into a sub-select, bound to one graph version.

    Args:
        name: What to call the query in errors, usually its file name.
        text: The query; `$graph` in it stands for the version's graph, declared or not.
        graph: The named graph of the version, or None for the default graph.

    Raises:
        ConfigError: The text does not select ?s ?p ?o, or names no `$graph` where one is needed.
    """
    body = _without_head(text)
    prologue = _PROLOGUE.match(body)
    assert prologue is not None
    select = body[prologue.end() :]
    if not re.match(r"SELECT\b[^{]*\?s\b[^{]*\?p\b[^{]*\?o\b", select, re.IGNORECASE):
        raise ConfigError(f"{name} must be a SELECT of ?s ?p ?o, in that order")
    if re.search(r"\$graph\b", select):
        if graph is None:
            raise ConfigError(
                f"{name} uses $graph, but the source is the default graph; remove $graph"
            )
        select = re.sub(r"\$graph\b", lambda _: f"<{check_iri(graph)}>", select)
    elif graph is not None:
        raise ConfigError(
            f"{name} must use $graph to say which version it reads: GRAPH $graph {{ ... }}"
        )
    # DISTINCT makes the scope a set, as a graph is; the line breaks end a trailing comment.
    text = "{ SELECT DISTINCT ?s ?p ?o WHERE { {\n" + select.strip() + "\n} } }"
    return Pattern(text, body[: prologue.end()].strip())


def _default_of(parameter: Parameter) -> Value:
    default = parameter.default or ""
    return load(default).pattern() if parameter.kind == "expression" else parameter.read(default)


def _without_head(text: str) -> str:
    """The text after its leading comment lines."""
    return _HEAD.sub("", text)
