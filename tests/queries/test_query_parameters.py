"""Parameters as people write them: read by their types, filled in, or refused by name."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgsync.errors import ConfigError
from kgsync.queries import Parameter, parse, query_form
from kgsync.queries.calls import functions_called
from tests.graph.graphs import EX, examples
from tests.queries.query_texts import hostile, in_oxigraph, in_rdflib, one, query_shape

MINE = """# Mine.
# $graph: iri = ?source       the graph
# $k: integer = 10    how many
# $name: literal = "two words"   what it is called
# $least: decimal
[$graph $k $name $least]
"""


def test_the_head_tells_types_defaults_and_descriptions() -> None:
    query = parse("mine", MINE)
    assert query.summary == "Mine."
    assert list(query.parameters.values()) == [
        Parameter("graph", "iri", "?source", "the graph"),
        Parameter("k", "integer", "10", "how many"),
        Parameter("name", "literal", "two words", "what it is called"),
        Parameter("least", "decimal"),
    ]
    assert [p.name for p in query.parameters.values() if not p.optional] == ["least"]
    assert query.parameters["graph"].known_as == "source"


def test_defaults_stand_in_for_what_is_not_given() -> None:
    query = parse("mine", MINE)
    assert query.bind(least=1) == '[$graph 10 "two words" 1.0]'
    assert query.bind(least=Decimal("0.50"), k=3, graph=EX) == f'[<{EX}> 3 "two words" 0.50]'
    with pytest.raises(ConfigError, match="needs the parameter least: -p least=…"):
        query.bind(k=3)


def test_what_a_sync_knows_is_filled_in_unless_told_otherwise() -> None:
    query = parse("mine", MINE)
    known = {"source": EX + "kg", "k": "7"}
    assert query.bind_given({"least": "1"}, known) == f'[<{EX}kg> 10 "two words" 1.0]'
    assert query.bind_given({"least": "1", "graph": "*"}, known).startswith("[$graph ")
    assert query.bind_given({"least": "1", "graph": EX}, known).startswith(f"[<{EX}> ")
    for several in (["*"], ("*",)):
        assert query.bind_given({"least": "1", "graph": several}, known).startswith("[$graph ")
    with pytest.raises(ConfigError, match=r"mine: \$k must be of type integer"):
        query.bind_given({"least": "1", "k": "*"}, known)


def test_a_list_is_filled_in_but_not_left_open() -> None:
    query = parse("mine", "# $among: iris = ?entities\n[$among]")
    assert query.bind_given({}, {"entities": [EX + "a", EX + "b"]}) == f"[<{EX}a> <{EX}b>]"
    assert query.bind_given({"among": EX + "c"}, {"entities": [EX + "a"]}) == f"[<{EX}c>]"
    for left in ("*", ["*"]):
        with pytest.raises(ConfigError, match=r"mine: \$among is a list and needs values"):
            query.bind_given({"among": left}, {"entities": []})


def test_what_a_sync_does_not_know_must_be_given() -> None:
    query = parse("mine", MINE)
    with pytest.raises(ConfigError, match=r"mine: \$graph cannot be filled in.*give graph=\.\.\."):
        query.bind_given({"least": "1"}, {"current": "1"})
    assert query.bind_given({"least": "1", "graph": "*"}, {}).startswith("[$graph ")
    assert query.bind_given({"least": "1"}, {"source": None}).startswith("[$graph ")
    with pytest.raises(
        ConfigError, match=r"\$x has the default \?curent, but a sync can fill in only \?at,"
    ):
        parse("mine", "# $x: literal = ?curent\n[$x]").bind_given({}, {"current": "1"})


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT * WHERE { }", "SELECT"),
        ("# CONSTRUCT\n\nPREFIX a: <urn:#SELECT> # x\nBASE <urn:x>\nask{}", "ASK"),
        ("  construct where { ?s ?p ?o }", "CONSTRUCT"),
        ("PREFIX : <urn:x#>\nDESCRIBE :x", "DESCRIBE"),
        ("", ""),
        ("?", ""),
    ],
)
def test_the_form_of_a_query_is_its_first_word(text: str, form: str) -> None:
    assert query_form(text) == form


@pytest.mark.parametrize(
    ("kind", "given", "rendered"),
    [
        ("iri", f" <{EX}a> ", f"<{EX}a>"),
        ("iri", [EX + "a"], f"<{EX}a>"),
        ("integer", " 12 ", "12"),
        ("integer", ["-3"], "-3"),
        ("integer", 4, "4"),
        ("decimal", "0.05", "0.05"),
        ("decimal", "-1", "-1.0"),
        ("decimal", "1e-3", "0.001"),
        ("decimal", 1e-7, "0.0000001"),
        ("decimal", 2, "2.0"),
        ("literal", "a=b", '"a=b"'),
        ("literal", 3, '"3"'),
        ("iris", [EX + "a", f"<{EX}b>"], f"<{EX}a> <{EX}b>"),
        ("iris", EX + "a", f"<{EX}a>"),
        ("literals", ["a", "b"], '"a", "b"'),
        ("values", ["a", "b"], '"a" "b"'),
        ("literals", "ab", '"ab"'),
    ],
)
def test_a_text_is_read_by_its_type(kind: str, given: object, rendered: str) -> None:
    assert one(kind, "[$x]").bind_given({"x": given}, {}) == f"[{rendered}]"


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("iri", "relative"),
        ("iri", f"{EX}a> . ?a ?b ?c . <{EX}b"),
        ("iri", f"<{EX}a> <{EX}b>"),
        ("iri", ["a", "b"]),
        ("iri", []),
        ("iri", 7),
        ("integer", "7 } DROP"),
        ("integer", "٣"),
        ("integer", "1.5"),
        ("integer", "9" * 30),
        ("integer", True),
        ("integer", 1.5),
        ("decimal", "1 || true"),
        ("decimal", "1e999999"),
        ("decimal", "1e-999999"),
        ("decimal", "inf"),
        ("decimal", float("nan")),
        ("decimal", True),
        ("age", "7"),
        ("age", '7d" #'),
        ("age", 7),
        ("age", "99999d"),
        ("literal", None),
        ("pattern", "?a ?b ?c"),
        ("ntriples", f"<{EX}a> <{EX}b> <{EX}c> ."),
    ],
)
def test_a_text_that_does_not_fit_is_refused_with_the_name(kind: str, given: object) -> None:
    expected = "needs the parameter x" if given is None else r"\$x"
    with pytest.raises(ConfigError, match=f"mine.*{expected}"):
        one(kind).bind_given({"x": given}, {})


def test_an_age_is_the_moment_that_long_ago() -> None:
    text = one("age", "SELECT ($x AS ?v) WHERE {}").bind(x="2h")
    then = datetime.fromisoformat(in_oxigraph(text))
    assert timedelta(hours=2) <= datetime.now(UTC) - then < timedelta(hours=2, minutes=1)
    assert in_rdflib(text)


def test_a_type_that_there_is_not_is_named() -> None:
    with pytest.raises(
        ConfigError, match=r"\$x has the unknown type colour; known types: age, decimal"
    ):
        one("colour")


@examples(200)
@given(st.sampled_from(["integer", "decimal", "age"]), hostile)
@example("integer", "1 } DROP")
@example("decimal", "1.0\n")
@example("age", "7d")
def test_a_hostile_number_is_refused_or_stays_one_term(kind: str, value: str) -> None:
    query = one(kind, "SELECT ?s WHERE { ?s ?p ?o FILTER(?o > $x) }")
    sample = {"integer": 7, "decimal": 0.5, "age": "7d"}[kind]
    try:
        text = query.bind_given({"x": value}, {})
    except ConfigError:
        return
    assert query_shape(text) == query_shape(query.bind_given({"x": sample}, {}))


def test_functions_that_a_query_calls_are_found() -> None:
    text = f"""PREFIX f: <{EX}f#>
        SELECT ?s (f:a(?o) AS ?x) WHERE {{ ?s f:predicate ?o FILTER(?o < <{EX}f#b>(f:c(?o)))
        FILTER NOT EXISTS {{ ?s ?p "f:text(?o)" }} }} ORDER BY f:d(?s)"""
    assert functions_called(text) == {f"{EX}f#{name}" for name in "abcd"}
    assert functions_called("ASK { }") == set()
    assert functions_called("nonsense") is None


def test_thousands_of_iris_do_not_hide_a_function_or_take_long() -> None:
    iris = " ".join(f"<{EX}{number}>" for number in range(50_000))
    text = f"SELECT ?x WHERE {{ VALUES ?x {{ {iris} }} FILTER(<{EX}f>(?x, <{EX}x>)) }}"
    started = time.perf_counter()
    assert functions_called(text) == {EX + "f"}
    assert time.perf_counter() - started < 3  # parsed as they are, they take half a minute
    few = f"ASK {{ <{EX}s> <{EX}p> <{EX}o> FILTER(<{EX}f>(1)) GRAPH ?g {{ <{EX}s> ?p ?o }} }}"
    assert functions_called(few) == {EX + "f"}
