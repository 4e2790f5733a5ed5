"""From bytes and terms to batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.adapters.columns import TsvSink, push_rows
from kgsync.errors import TransientStoreError
from kgsync.graph.port import TripleBatch
from tests.graph.graphs import examples, rows_of

HEAD = b"?s\t?p\t?o\t?mark\n"
MARK = b'\t"cafe"\n'
MEGABYTE = 1 << 20
cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1)
row_lists = st.lists(st.tuples(cells, cells, cells), max_size=10)


def received(*chunks: bytes) -> list[tuple[str, str, str]]:
    """The rows of an answer that arrives in chunks."""
    batches: list[TripleBatch] = []
    sink = TsvSink(batches.append, "cafe")
    for chunk in chunks:
        assert sink.write(chunk) == len(chunk)
        sink.flush()
    sink.finish()
    return rows_of(batches)


@examples(60)
@given(row_lists, st.integers(1, 50))
def test_an_answer_may_be_cut_anywhere(rows: list[tuple[str, str, str]], size: int) -> None:
    answer = HEAD + "".join("\t".join(row) + MARK.decode() for row in rows).encode()
    chunks = [answer[start : start + size] for start in range(0, len(answer), size)]
    assert received(*chunks) == rows


@examples(30)
@given(row_lists)
def test_rows_of_text_arrive_as_they_are(rows: list[tuple[str, str, str]]) -> None:
    batches: list[TripleBatch] = []
    push_rows(rows, batches.append)
    assert rows_of(batches) == rows


def test_rows_of_text_are_pushed_in_blocks() -> None:
    rows = [(f"<s{number}>", "<p>", '"') for number in range(25_000)]
    batches: list[TripleBatch] = []
    push_rows(iter(rows), batches.append)
    assert len(batches) == 3
    assert rows_of(batches) == rows


def test_a_large_answer_is_pushed_while_it_arrives() -> None:
    batches: list[TripleBatch] = []
    sink = TsvSink(batches.append, "cafe")
    sink.write(HEAD)
    line = b"<s>\t<p>\t<o>" + MARK
    for _ in range(3):
        sink.write(line * (MEGABYTE // len(line) + 1))
    assert len(batches) == 3
    sink.finish()
    assert sum(batch.num_rows for batch in batches) == 3 * (MEGABYTE // len(line) + 1)


@pytest.mark.parametrize(
    "chunks",
    [
        [HEAD, b"<s>\t<p>\t", b"x" * MEGABYTE, MARK],
        [HEAD + b"<s>\t<p>\t" + b"x" * MEGABYTE, b"x" + MARK],
        [HEAD, b"<s>\t<p>\t" + b"x" * MEGABYTE + MARK],
    ],
    ids=["head apart", "head and half a row", "whole row"],
)
def test_the_head_is_no_row_even_if_the_first_row_is_longer_than_a_block(
    chunks: list[bytes],
) -> None:
    rows = received(*chunks)
    assert [row[:2] for row in rows] == [("<s>", "<p>")]


def test_an_answer_of_nothing_but_its_head_has_no_rows() -> None:
    assert received(HEAD) == []


def test_quotes_and_empty_cells_are_text() -> None:
    assert received(HEAD, b'"a"\t\t"b""c' + MARK, b"\t\t" + MARK) == [
        ('"a"', "", '"b""c'),
        ("", "", ""),
    ]


@pytest.mark.parametrize("row", [b"<s>\t<p>\n", b"<s>\t<p>\t<\xff>" + MARK])
def test_a_malformed_row_is_a_transient_error(row: bytes) -> None:
    with pytest.raises(TransientStoreError, match="malformed row"):
        received(HEAD, b"<s>\t<p>\t<o>" + MARK, row)


@pytest.mark.parametrize("end", [b"\n", b"\t<x>\n", b'\t"beef"\n'])
def test_a_line_that_does_not_end_in_the_mark_is_no_row(end: bytes) -> None:
    with pytest.raises(TransientStoreError):
        received(HEAD, b"<s>\t<p>\t<o>" + MARK, b"<s>\t<p>\t<o>" + end)


@pytest.mark.parametrize("end", [b"<s>", b"<s>\t<p>\t<o>"])
def test_an_answer_that_ends_in_the_middle_of_a_line_is_a_transient_error(end: bytes) -> None:
    with pytest.raises(TransientStoreError, match="middle of a line"):
        received(HEAD, b"<s>\t<p>\t<o>" + MARK, end)
