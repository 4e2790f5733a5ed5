"""One grammar of RDF terms, read alike by Python and by Arrow."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.common.rdf_terms import (
    CANONICAL,
    EDGE,
    OBJECT,
    STATEMENT,
    VALID_IRI,
    escaped,
    is_iri,
    is_plain_iri,
    unescaped,
)
from tests.graph.graphs import examples


def matches(pattern: str, *texts: str) -> list[bool]:
    """What Arrow says about texts."""
    found: list[bool] = pc.match_substring_regex(pa.array(texts), pattern).to_pylist()
    return found


@examples(300)
@given(st.text('ahtp:/#[]<>{}|\\^`" \t\n\x00\x7f%é.', max_size=12))
def test_python_and_arrow_agree_about_valid_iris(text: str) -> None:
    assert matches(VALID_IRI, f"<{text}>") == [is_iri(text)]
    assert is_iri(text) or not is_plain_iri(text)


def test_an_iri_is_absolute_and_stays_in_its_brackets() -> None:
    assert all(map(is_iri, ["http://example.org/a", "urn:x", "a:", "http://é.org/[b]", "x:a#b#c"]))
    refused = ["", "a", "/a", "1a:b", "x:a b", "x:a>", "x:<", "x:a\n", "x:\\u0041", 'x:"', "x:{}"]
    assert not any(map(is_iri, refused))
    assert is_plain_iri("http://example.org/a?b=c#d")
    assert not any(map(is_plain_iri, ["http://example.org/[a]", "x:a%2", "x:a#b#c"]))


def test_the_grammars_accept_what_they_are_for() -> None:
    plain = "<x:a> <x:p> <x:b> ."
    spaced = "<x:a b> <x:p> <x:b> ."
    text = '<x:a> <x:p> "say \\"x\\""@en .'
    broken = '<x:a> <x:p> "say "x"" .'
    typed = '_:a <x:p> "7"^^<x:integer> . # seven'
    assert matches(STATEMENT, plain, spaced, text, broken, typed) == [True, True, True, False, True]
    assert matches(CANONICAL, plain, spaced, text, broken, typed) == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert matches(EDGE, plain, spaced, text) == [True, False, False]
    assert matches(OBJECT, "<x:b>", "<x:a b>", '"a"@en', '"a', "<<( <x:a> <x:p> <x:b> )>>") == [
        True,
        False,
        True,
        False,
        True,
    ]


@examples(200)
@given(st.text(max_size=20))
def test_an_escaped_text_has_no_quote_or_line_break_of_its_own(text: str) -> None:
    assert re.fullmatch(r'(?:[^"\\\n\r\t]|\\.)*', escaped(text))


def test_numbered_characters_are_written_out() -> None:
    assert unescaped("<x:Z\\u00FCrich> \\U0001F600 \\n") == "<x:Zürich> 😀 \\n"
    with pytest.raises(ValueError, match="invalid character escape"):
        unescaped("\\UFFFFFFFF")
