"""The one place where SPARQL text is found, bound and escaped.

Every query is a `.rq` file beside this module. A leading underscore marks an internal one. The
comment head declares each placeholder with its type:

    # $graph: iri       the named graph to read

and `bind` accepts exactly the declared names. Values are validated and escaped by type, so that
no IRI or string can change the query around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kgsync.errors import ConfigError

__all__ = ["Pattern", "Query", "available", "check_iri", "is_iri", "load", "parse", "scope_pattern"]

_DECLARATION = re.compile(r"^#\s*\$(\w+):\s*(\w+)", re.MULTILINE)
# What the IRIREF production of SPARQL 1.1 excludes: with it an IRI could leave its brackets.
_ILLEGAL_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SPACE = r"(?:\s|#[^\n]*(?:\n|\Z))*"
_PROLOGUE = re.compile(
    rf"{_SPACE}(?:(?:BASE\s+<[^>]*>|PREFIX\s+[^\s:]*:\s*<[^>]*>){_SPACE})*", re.IGNORECASE
)
_HEAD = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))+")
_ESCAPED_U = re.compile(r"\\\\([uU])")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True)
class Pattern:
    """A bound group graph pattern, only ever made by this module, with the prologue it needs."""

    text: str
    prologue: str = ""


Value = str | int | Pattern | Iterable[str]


@dataclass(frozen=True)
class Query:
    """One query file: its text, its one-line summary, and its declared placeholders."""

    name: str
    text: str
    placeholders: Mapping[str, str]

    @property
    def summary(self) -> str:
        """The first comment line of the file."""
        first = self.text.lstrip().splitlines()[0]
        return first.lstrip("# ").rstrip()

    def bind(self, **values: Value) -> str:
        """Return the query with every declared placeholder replaced.

        Raises:
            ConfigError: A name is missing or undeclared, or a value does not fit its type.
        """
        bound = self.pattern(**values)
        return "\n".join(text for text in (bound.prologue, bound.text) if text)

    def pattern(self, **values: Value) -> Pattern:
        """Bind this file as a group graph pattern for a `pattern` placeholder of another query."""
        if set(values) != set(self.placeholders):
            wanted = ", ".join(sorted(self.placeholders)) or "none"
            given = ", ".join(sorted(values)) or "none"
            raise ConfigError(f"query {self.name} takes the parameters {wanted}; given: {given}")
        rendered = {n: _render(self.name, n, self.placeholders[n], v) for n, v in values.items()}
        body = _without_head(self.text).strip()
        if rendered:
            names = re.compile(r"\$(" + "|".join(map(re.escape, rendered)) + r")\b")
            body = names.sub(lambda match: rendered[match.group(1)], body)
        prologues = [v.prologue for v in values.values() if isinstance(v, Pattern)]
        return Pattern(body, "\n".join(dict.fromkeys(p for p in prologues if p)))


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
    """Make a query of a text in the same grammar, for instance a user's own file."""
    return Query(name, text, dict(_DECLARATION.findall(text)))


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
            raise ConfigError(f"{name} uses $graph, but the source is the default graph")
        select = re.sub(r"\$graph\b", lambda _: f"<{check_iri(graph)}>", select)
    elif graph is not None:
        raise ConfigError(
            f"{name} must use $graph to say which version it reads: GRAPH $graph {{ ... }}"
        )
    # DISTINCT makes the scope a set, as a graph is; the line breaks end a trailing comment.
    text = "{ SELECT DISTINCT ?s ?p ?o WHERE { {\n" + select.strip() + "\n} } }"
    return Pattern(text, body[: prologue.end()].strip())


def is_iri(value: str) -> bool:
    """Whether a text can stand between `<` and `>` unchanged."""
    return not _ILLEGAL_IN_IRI.search(value) and bool(_HAS_SCHEME.match(value))


def check_iri(value: str) -> str:
    """Return the IRI if it can stand between `<` and `>` unchanged.

    Raises:
        ConfigError: It is relative or has a character that IRIs exclude.
    """
    if not is_iri(value):
        raise ConfigError(f"not an absolute IRI: {value!r}")
    return value


def _bracketed(iri: str) -> str:
    return f"<{check_iri(iri)}>"


def _quoted(value: str) -> str:
    return f'"{_ESCAPED_U.sub(_spell_u, value.translate(_ESCAPES))}"'


def _checked_triples(query: str, text: str) -> str:
    """N-Triples, parsed and written anew, so that nothing else can be between them."""
    import pyoxigraph as ox

    form = ox.RdfFormat.N_TRIPLES
    try:
        triples = ox.parse(text.encode(), format=form)
        written = ox.serialize((quad.triple for quad in triples), format=form)
    except SyntaxError as error:
        raise ConfigError(f"query {query} is given what are no triples: {error}") from None
    assert written is not None
    return written.decode()


def _spell_u(match: re.Match[str]) -> str:
    return f"\\\\\\U{ord(match.group(1)):08X}"


def _without_head(text: str) -> str:
    """The text after its leading comment lines."""
    return _HEAD.sub("", text)


def _render(query: str, name: str, kind: str, value: Value) -> str:
    match kind, value:
        case "iri", str():
            return _bracketed(value)
        case "integer", int() if not isinstance(value, bool):
            return str(value)
        case "literal", str():
            return _quoted(value)
        case "ntriples", str():
            return _checked_triples(query, value)
        case "pattern", Pattern():
            return value.text
        case (("iris" | "literals"), Iterable()) if not isinstance(value, str | Pattern):
            write, between = (_bracketed, " ") if kind == "iris" else (_quoted, ", ")
            return between.join(write(str(item)) for item in value)
    raise ConfigError(f"query {query}: ${name} must be of type {kind}, not {value!r}")
