"""The query loader: every text parses, and no value changes the query around it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgsync import queries
from kgsync.errors import ConfigError
from kgsync.graph.port import TripleSource
from kgsync.queries import (
    Pattern,
    check_iri,
    load,
    parse,
    scope_pattern,
)
from tests.graph.graphs import EX, OLD, examples
from tests.queries.query_texts import (
    PIECES,
    hostile,
    in_oxigraph,
    in_rdflib,
    one,
    query_shape,
    update_shape,
)
from tests.thinning import thinned

FILES = sorted(Path(queries.__path__[0]).glob("*.rq"))
SCOPE = "SELECT ?s ?p ?o WHERE { GRAPH $graph { ?s ?p ?o } }"

SAMPLES: dict[str, queries.Value] = {
    "iri": EX + "x",
    "integer": 7,
    "literal": 'say "x"',
    "iris": [EX + "x", EX + "y"],
    "decimal": 0.5,
    "age": "7d",
    "literals": ["x", 'say "y"'],
    "values": ["x", 'say "y"'],
    "ntriples": f'<{EX}x> <{EX}p> "y" .\n',
    "pattern": Pattern("?s ?p ?o"),
    "expression": Pattern("STR(?s)"),
}


def test_the_shape_of_a_query_tells_what_it_does() -> None:
    plain = query_shape(f"SELECT ?s WHERE {{ ?s <{EX}p> 1 }}")
    assert plain == query_shape(f"SELECT ?s WHERE {{ ?s <{EX}q> 2 }}")
    for other in ("?s ?p 1", f"?s <{EX}p> 1 . ?s ?a ?b", f"?s <{EX}p> <{EX}o>"):
        assert query_shape(f"SELECT ?s WHERE {{ {other} }}") != plain


# -- the files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_every_file_parses_once_it_is_bound(file: Path) -> None:
    query = load(file.stem)
    values = {name: SAMPLES[kind] for name, kind in query.placeholders.items()}
    text = bound(file, values)
    is_update = re.search(r"^\s*(INSERT|DELETE|CLEAR|DROP)\b", text, re.MULTILINE)
    assert (update_shape if is_update else query_shape)(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_every_placeholder_is_declared_and_used(file: Path) -> None:
    query = load(file.stem)
    body = "\n".join(line for line in query.text.splitlines() if not line.startswith("#"))
    assert set(re.findall(r"\$(\w+)", body)) == set(query.placeholders)
    assert set(query.placeholders.values()) <= set(SAMPLES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_every_file_says_in_its_first_line_what_it_is_for(file: Path) -> None:
    summary = load(file.stem).summary
    assert summary.endswith(".")
    assert not summary.startswith(("#", "$"))


def test_only_queries_for_users_are_listed() -> None:
    listed = queries.available()
    assert listed == sorted(file.stem for file in FILES if not file.stem.startswith("_"))
    assert "current_version" in listed


def test_an_unknown_query_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no query named 'nonsense'.*current_version"):
        load("nonsense")


# -- binding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "rendered"),
    [
        ("iri", EX + "a", f"<{EX}a>"),
        ("iri", "urn:ü", "<urn:ü>"),
        ("integer", 12, "12"),
        ("integer", -3, "-3"),
        ("literal", "text", '"text"'),
        ("literal", '"\\\n\r\t', r'"\"\\\n\r\t"'),
        ("iris", [EX + "a", EX + "b"], f"<{EX}a> <{EX}b>"),
        ("iris", (EX + "a",), f"<{EX}a>"),
        ("iris", [], ""),
        ("literals", ["a", 'b"'], r'"a", "b\""'),
        ("values", ["a", 'b"'], r'"a" "b\""'),
        ("ntriples", f"<{EX}a>  <{EX}b>\t<{EX}c>.", f"<{EX}a> <{EX}b> <{EX}c> .\n"),
        ("pattern", Pattern("?a ?b ?c"), "?a ?b ?c"),
    ],
)
def test_a_value_is_rendered_by_its_type(kind: str, value: queries.Value, rendered: str) -> None:
    assert one(kind, "[$x]").bind(x=value).strip() == f"[{rendered}]"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("iri", 7),
        ("iri", [EX + "a"]),
        ("iri", "relative"),
        ("iri", ""),
        ("integer", "7"),
        ("integer", True),
        ("literal", 7),
        ("literal", Pattern("?a ?b ?c")),
        ("iris", EX + "a"),
        ("iris", [EX + "a", "not an iri"]),
        ("iris", 7),
        ("literals", "a"),
        ("literals", 7),
        ("values", "a"),
        ("values", 7),
        ("ntriples", "oops"),
        ("ntriples", f"<{EX}a> <{EX}b> <{EX}c> }} ; DROP ALL #"),
        ("ntriples", f"<{EX}a> <{EX}b> <{EX}c> . }} ; DROP ALL ; INSERT DATA {{"),
        ("pattern", "?a ?b ?c"),
        ("colour", "red"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: str, value: queries.Value) -> None:
    with pytest.raises(ConfigError):
        one(kind).bind(x=value)


def test_a_missing_parameter_is_named_with_the_way_to_give_it() -> None:
    with pytest.raises(ConfigError, match=r"query mine needs the parameter x: -p x=…$"):
        one("iri").bind()


@pytest.mark.parametrize("values", [{"y": EX}, {"x": EX, "y": EX}])
def test_unknown_parameters_are_named(values: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="query mine takes the parameters x; given: ") as error:
        one("iri").bind(**values)
    assert str(error.value).endswith(", ".join(sorted(values)) or "none")


def test_a_query_without_placeholders_takes_no_parameters() -> None:
    with pytest.raises(ConfigError, match="takes the parameters none; given: x"):
        parse("mine", "SELECT * WHERE { ?s ?p ?o }").bind(x=EX)


def test_a_name_that_begins_like_another_is_told_apart() -> None:
    query = parse("mine", "# $a: integer\n# $ab: integer\n[$a $ab $abc]")
    assert query.bind(a=1, ab=2).strip() == "[1 2 $abc]"


def test_a_value_that_looks_like_a_placeholder_is_left_alone() -> None:
    query = parse("mine", "# $a: literal\n# $b: literal\n[$a $b]")
    assert query.bind(a="$b", b="$a").strip() == '["$b" "$a"]'


def test_the_prologue_of_a_pattern_goes_to_the_front_once() -> None:
    scope = scope_pattern("mine", f"PREFIX ex: <{EX}>\n{SCOPE}", OLD)
    difference = load("_pattern_difference").pattern(where=scope, base=scope)
    text = load("_triples").bind(where=difference, mark="x")
    assert text.startswith(f"PREFIX ex: <{EX}>\nSELECT")
    assert text.count("PREFIX") == 1
    assert query_shape(text)


# -- hostile values --------------------------------------------------------------------------------


@examples(200)
@given(st.sampled_from(["", EX, "urn:x:"]), hostile, st.sampled_from(["iri", "iris"]))
@example(EX, "a> . ?a ?b ?c } ; DROP ALL #", "iri")
@example(EX, "a\\u003E", "iris")
def test_a_hostile_iri_is_refused_or_stays_one_iri(start: str, value: str, kind: str) -> None:
    query = one(kind, "SELECT ?s WHERE { VALUES ?o { $x } ?s ?p ?o }")
    iri = start + value
    try:
        text = query.bind(x=iri if kind == "iri" else [iri])
    except ConfigError:
        with pytest.raises(ConfigError):
            check_iri(iri)
        return
    assert f"<{iri}>" in text
    assert query_shape(text) == query_shape(query.bind(x=EX if kind == "iri" else [EX]))


@examples(200)
@given(hostile)
@example('" . ?a ?b ?c } ; DROP ALL #')
@example("\\")
@example('\\"')
def test_a_hostile_literal_stays_one_literal_of_the_same_value(value: str) -> None:
    query = one("literal", "SELECT ($x AS ?v) WHERE {}")
    text = query.bind(x=value)
    assert query_shape(text) == query_shape(query.bind(x="text"))
    assert in_oxigraph(text) == in_rdflib(text) == value


def bound(file: Path, values: dict[str, queries.Value]) -> str:
    """A query of the library with these values, as it is sent."""
    query = load(file.stem)
    if file.stem.startswith("_pattern_"):
        return load("_triples").bind(mark="x", where=query.pattern(**values))
    if file.stem.startswith("_expression_"):
        return one("expression", "SELECT ($x AS ?v) WHERE {}").bind(x=query.pattern(**values))
    return query.bind(**values)


def whole_shape(text: str) -> Any:
    is_update = re.search(r"^\s*(INSERT|DELETE|CLEAR|DROP)\b", text, re.MULTILINE)
    return (update_shape if is_update else query_shape)(text)


def _is_first_of_its_kind(file: Path) -> bool:
    """Whether earlier queries lack one of the kinds of its placeholders."""
    earlier = FILES[: FILES.index(file)]
    known = {kind for one in earlier for kind in load(one.stem).placeholders.values()}
    return not known.issuperset(load(file.stem).placeholders.values())


@pytest.mark.parametrize(
    "file", thinned(FILES, _is_first_of_its_kind), ids=lambda file: str(file.stem)
)
def test_no_hostile_value_changes_what_a_query_of_the_library_does(file: Path) -> None:
    """Of sixty values a query, each is refused or stays one term, at every place of every query."""
    kinds = load(file.stem).placeholders
    values = {name: SAMPLES[kind] for name, kind in kinds.items()}
    expected = whole_shape(bound(file, values))
    draw = random.Random(7)
    for _ in range(60):
        name = draw.choice(sorted(kinds) or [""])
        kind = kinds.get(name, "")
        if kind not in ("iri", "iris", "literal", "literals", "values"):
            continue
        value = "".join(draw.choices(PIECES, k=draw.randint(1, 6)))
        if kind.startswith("iri"):
            value = draw.choice([EX, "urn:x:", ""]) + value
        given = {**values, name: [value, EX + "y"] if kind.endswith("s") else value}
        try:
            text = bound(file, given)
        except ConfigError:
            assert kind.startswith("iri")
            continue
        assert whole_shape(text) == expected, value


@pytest.mark.parametrize("value", [r"\u0022", r"C:\users\u000Anna", r"\U0000005C", r"\\u0041"])
@pytest.mark.parametrize("answer", [in_rdflib, in_oxigraph], ids=["rdflib", "oxigraph"])
def test_what_looks_like_an_escaped_character_in_a_literal_is_text(
    value: str, answer: Callable[[str], str]
) -> None:
    """SPARQL 1.1, 19.2: such escapes are read before anything else, also after a backslash."""
    assert answer(one("literal", "SELECT ($x AS ?v) WHERE {}").bind(x=value)) == value


@examples(60)
@given(hostile, st.sampled_from([None, SCOPE]))
def test_a_hostile_graph_name_does_not_leave_its_brackets(value: str, scope: str | None) -> None:
    query = load("_count")
    try:
        text = query.bind(where=TripleSource(EX + value, scope).pattern(union=False))
    except ConfigError:
        with pytest.raises(ConfigError):
            check_iri(EX + value)
        return
    expected = query.bind(where=TripleSource(EX, scope).pattern(union=False))
    assert query_shape(text) == query_shape(expected)


@pytest.mark.parametrize("iri", [EX, "urn:x", "mailto:a@b", "http://例え.jp/ü?a=b#c", "a+b-c.1:x"])
def test_an_absolute_iri_is_returned_unchanged(iri: str) -> None:
    assert check_iri(iri) == iri


@pytest.mark.parametrize("iri", ["", "x", "/x", "//x/y", "1a:x", ":x", "a b:c", "http://a/\x1f"])
def test_anything_else_is_no_iri(iri: str) -> None:
    with pytest.raises(ConfigError, match="not an absolute IRI"):
        check_iri(iri)


# -- scopes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "SELECT * WHERE { ?s ?p ?o }",
        "SELECT ?s ?o WHERE { ?s ?p ?o }",
        "SELECT ?o ?p ?s WHERE { ?s ?p ?o }",
        "SELECT ?subject ?property ?object WHERE { ?subject ?property ?object }",
        "DROP ALL",
        "",
    ],
)
def test_a_scope_must_select_s_p_o(text: str) -> None:
    with pytest.raises(ConfigError, match=r"mine must be a SELECT of \?s \?p \?o"):
        scope_pattern("mine", text, None)


def test_a_scope_of_a_named_graph_must_name_it() -> None:
    with pytest.raises(ConfigError, match=r"must use \$graph"):
        scope_pattern("mine", "SELECT ?s ?p ?o WHERE { ?s ?p ?o }", OLD)


def test_a_scope_of_the_default_graph_must_not_name_a_graph() -> None:
    with pytest.raises(ConfigError, match=r"uses \$graph, but the source is the default graph"):
        scope_pattern("mine", SCOPE, None)


def test_the_graph_of_a_scope_is_put_in_wherever_it_is_named() -> None:
    pattern = scope_pattern("mine", SCOPE.replace("}", "} GRAPH $graph { ?s a ?c }", 1), OLD)
    assert pattern.text.count(f"GRAPH <{OLD}>") == 2
    assert "$graph" not in pattern.text


@pytest.mark.parametrize(
    "string",
    ['"""one\n# two"""', '"one\u2028two"', '"one\x0ctwo"', '"# one"'],
    ids=["line that begins with #", "line separator", "form feed", "#"],
)
def test_a_string_inside_a_scope_is_left_alone(string: str) -> None:
    scope = f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o FILTER(STR(?o) !=\n{string}) }}"
    assert string in scope_pattern("mine", scope, None).text
