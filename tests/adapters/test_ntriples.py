"""N-Triples as servers send them, against Oxigraph's own parser; what is cut is never guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgsync.adapters.sparql.formats import ntriples
from kgsync.adapters.sparql.formats.ntriples import NTriplesSink
from kgsync.errors import TransientStoreError
from kgsync.graph.port import TripleBatch
from tests.graph.graphs import EX, examples, rows_of
from tests.servers.faults import CANCELLED

Row = tuple[str, str, str]

_TEXT = st.text(
    st.sampled_from('"\\\n\r\t .<>_:@^#ab\u2028\x85ü😀')
    | st.characters(exclude_categories=["Cs"], min_codepoint=1),
    max_size=12,
)
_NAMES = st.sampled_from(["/", "?q=", "%20", "%C3%BC", ".", "_:", "😀"]) | st.characters(
    categories=["Lu", "Ll", "Lo", "Nd"]
)
iris = st.lists(_NAMES, max_size=6).map(lambda name: ox.NamedNode(EX + "".join(name)))
blanks = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,3}(\.[0-9]+)?", fullmatch=True).map(ox.BlankNode)
literals = (
    st.builds(ox.Literal, _TEXT)
    | st.builds(
        lambda text, tag: ox.Literal(text, language=tag), _TEXT, st.sampled_from(["en", "de-CH"])
    )
    | st.builds(lambda text, kind: ox.Literal(text, datatype=kind), _TEXT, iris)
)
triples = st.builds(ox.Triple, iris | blanks, iris, iris | blanks | literals)
graphs = st.lists(triples, min_size=1, max_size=8)


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    before, ntriples._BLOCK_BYTES = ntriples._BLOCK_BYTES, size
    try:
        yield
    finally:
        ntriples._BLOCK_BYTES = before


def parsed(data: bytes, piece: int = 1 << 16, block: int = 1 << 20) -> list[Row]:
    """The rows of an answer that comes in pieces."""
    batches: list[TripleBatch] = []
    sink = NTriplesSink(batches.append)
    with blocks_of(block):
        for start in range(0, len(data), piece):
            sink.write(data[start : start + piece])
        sink.finish()
    return rows_of(batches)


def text_of(triple: ox.Triple) -> Row:
    return str(triple.subject), str(triple.predicate), str(triple.object)


def lines_of(graph: Iterable[ox.Triple]) -> list[bytes]:
    text = ox.serialize(graph, format=ox.RdfFormat.N_TRIPLES) or b""
    return [line + b"\n" for line in text.split(b"\n")[:-1]]


def like_virtuoso(line: bytes) -> bytes:
    """Tabs between the terms, and what is not ASCII as escapes."""
    subject, predicate, rest = line.decode().split(" ", 2)
    text = "\t".join((subject, predicate, rest))
    return "".join(
        c if c < "\x80" else f"\\u{ord(c):04X}" if ord(c) < 1 << 16 else f"\\U{ord(c):08X}"
        for c in text
    ).encode()


def value_of(text: str) -> object:
    """The term that a text stands for: the same literal may be written in several ways."""
    if text.startswith("<"):
        return text
    (quad,) = ox.parse(f"<{EX}s> <{EX}p> {text} .".encode(), format=ox.RdfFormat.N_TRIPLES)
    return str(quad.object)


@examples(60)
@given(graphs, st.integers(1, 40), st.integers(1, 60))
def test_every_triple_arrives_whatever_the_blocks(
    graph: list[ox.Triple], piece: int, block: int
) -> None:
    expected = [text_of(triple) for triple in graph]
    assert parsed(b"".join(lines_of(graph)), piece, block) == expected


@examples(60)
@given(graphs)
def test_escapes_and_tabs_are_the_same_triples(graph: list[ox.Triple]) -> None:
    rows = parsed(b"".join(map(like_virtuoso, lines_of(graph))))
    assert [(s, p, value_of(o)) for s, p, o in rows] == [text_of(triple) for triple in graph]


@examples(50)
@given(
    graphs,
    st.sampled_from([b"# Empty NT\n", b'# a <b> "c" .\n', b"\n", b" \t\n", b"\r\n", b"  # x .\n"]),
    st.sampled_from([b"\n", b"\r\n", b" \n", b"\t\r\n"]),
)
def test_comments_empty_lines_and_line_ends_do_not_matter(
    graph: list[ox.Triple], noise: bytes, end: bytes
) -> None:
    lines = [b" " + line.removesuffix(b"\n") + end for line in lines_of(graph)]
    data = noise + noise.join(lines) + noise
    assert parsed(data) == [text_of(triple) for triple in graph]
    assert parsed(data.rstrip(b"\r\n \t")) == [text_of(triple) for triple in graph]


@pytest.mark.parametrize("data", [b"", b"\n", b"# Empty NT\n", b"# Empty NT", b"\r\n\r\n"])
def test_an_answer_without_triples_pushes_nothing(data: bytes) -> None:
    assert parsed(data) == []


@examples(40)
@given(
    st.lists(triples, min_size=1, max_size=3),
    st.sampled_from([b"", CANCELLED, b"\n" + CANCELLED, b"<html>\n", b'"', b"\xff"]),
)
@example([ox.Triple(ox.NamedNode(EX), ox.NamedNode(EX), ox.Literal('he said "hi" . then'))], b"")
@example([ox.Triple(ox.NamedNode(EX), ox.NamedNode(EX), ox.BlankNode("b1.2"))], b"")
def test_an_answer_cut_at_any_byte_is_refused_or_has_whole_lines_only(
    graph: list[ox.Triple], end: bytes
) -> None:
    data = b"".join(lines_of(graph))
    expected = [text_of(triple) for triple in graph]
    for cut in range(len(data) + 1):
        try:
            rows = parsed(data[:cut] + end)
        except TransientStoreError:
            continue
        assert not end
        assert rows == expected[: len(rows)]
        assert len(rows) >= data[:cut].count(b"\n")


@examples(60)
@given(graphs, st.sampled_from([CANCELLED, b"\n" + CANCELLED, b"Virtuoso S1TAT Error RC...: x"]))
def test_a_message_at_the_end_is_an_error(graph: list[ox.Triple], message: bytes) -> None:
    with pytest.raises(TransientStoreError):
        parsed(b"".join(lines_of(graph)) + message)


@pytest.mark.parametrize(
    "line",
    [
        b"<a> <b>",
        b"<a> <b> <c>",
        b"<a> <b> .",
        b"<a> <b> <c d> .",
        b"<a> <b> <c> <d> .",
        b'<a> <b> "c .',
        b'<a> <b> "c" "d" .',
        b'<a> <b> "c"d" .',
        b'<a> <b> "c\\" .',
        b'<a> <b> "c" . # "d" .',
        b'<a> <b> "c"@ .',
        b'<a> <b> "c"^^d .',
        b'"a" <b> <c> .',
        b"<a> _:b <c> .",
        b'<a> "b" <c> .',
        b"<a> <b> <c> . <d> <e> <f> .",
        b"<a> <b> <\\UFFFFFFFF> .",
        b"<a> <b> <\\uD800> .",
        b"<a> <b> <\xff> .",
        b"<!DOCTYPE html> <html> <body> .",
        b'{ "head": { } } .',
        b'<a> <b> <<( <c> <d> "e>> .',
    ],
)
def test_what_is_no_triple_is_an_error(line: bytes) -> None:
    with pytest.raises(TransientStoreError):
        parsed(line + b"\n")


def test_terms_are_encoded_once_a_batch() -> None:
    batches: list[TripleBatch] = []
    sink = NTriplesSink(batches.append)
    sink.write(b"<a:a> <a:b> <a:c> .\n" * 1000)
    sink.finish()
    (batch,) = batches
    assert batch.num_rows == 1000
    assert all(pa.types.is_dictionary(column.type) for column in batch.columns)
    assert [len(column.dictionary) for column in batch.columns] == [1, 1, 1]
