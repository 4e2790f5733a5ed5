"""Tables fit their terminal: columns are left out or cells shortened, no word is broken."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from kgsync.cli.commands.query import result_lines
from kgsync.cli.output import Output
from kgsync.cli.step_reports import show_history
from kgsync.cli.tables import shortened, table_lines
from kgsync.graph.change import ChangeCounts
from kgsync.graph.port import Term
from kgsync.graph.table import Table
from kgsync.state.report import StepReport

CHANGE = ChangeCounts(
    added_entities=14_541,
    deleted_entities=1_102,
    added_relations=237,
    deleted_relations=12,
    added_triples=(1_021_797, 20_000, 20_000),
    deleted_triples=(121_797, 0, 0),
)
QUALITY = {"mrr": 0.25, "hits@10": 0.5, "mr": 10.0}


def history(names: list[str]) -> list[StepReport]:
    first = StepReport(
        "trained", 1, change=CHANGE, quality=QUALITY, quality_before=QUALITY, seconds={"train": 9e3}
    )
    return [
        replace(first, version=number, graph_version=name) for number, name in enumerate(names, 1)
    ]


@pytest.mark.parametrize(
    "name",
    [
        "http://example.org/kg/version/1",
        "http://example.org/kg/" + "a-very-long-name-of-a-version" * 3,
        "2026-11-18T18:52:14.123+00:00",
    ],
)
def test_the_history_fits_80_columns_and_breaks_no_word(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("kgsync.cli.step_reports.output", Output())
    show_history(history([name, name]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert "trained" in lines[1]
    assert "+1,061,797 -121,797" in lines[1]
    assert "MRR" in lines[0]
    if name.startswith("2026"):
        assert "2026-11-18 18:52" in lines[1]


def test_the_history_has_all_columns_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("kgsync.cli.step_reports.output", Output())
    show_history(history(["http://example.org/" + "long" * 40]))
    header, row = capsys.readouterr().out.splitlines()
    assert re.split(r"\s{2,}", header)[6:] == [
        "MRR before",
        "after",
        "Hits@10",
        "learned",
        "forgotten",
        "neighbors",
        "seconds",
    ]
    assert "long" * 40 in row


def test_spare_columns_are_left_out_in_their_order_and_only_if_needed() -> None:
    columns, rows = ["name", "aa", "bb"], [["x" * 10, "1" * 10, "2" * 10]]
    for width, kept in ((34, columns), (33, columns[:2]), (21, columns[:1])):
        lines = table_lines(columns, rows, width, right=(), spare=["bb", "aa"])
        assert lines[0].split() == kept


def test_query_results_are_shortened_to_the_screen_but_numbers_are_not() -> None:
    iris = [Term("iri", f"http://example.org/{'long/' * 30}{i}") for i in range(2)]
    number = Term("literal", "1234567", "http://www.w3.org/2001/XMLSchema#integer")
    table = Table(("head", "tail", "count"), [(iris[0], iris[1], number)])
    _, row = result_lines(table, 80)
    assert len(row) == 80
    assert row.endswith("1234567")
    assert "…" in row
    assert "/1 " in row, "the end tells IRIs apart"
    _, row = result_lines(table)
    assert iris[0].value in row
    assert iris[1].value in row


def test_columns_of_a_query_that_do_not_fit_are_named() -> None:
    terms = tuple(Term("literal", "x" * 30) for _ in range(6))
    table = Table(("a", "b", "c", "d", "e", "f"), [terms])
    *lines, last = result_lines(table, 80)
    assert lines[0].split() == ["a", "b", "c", "d"]
    assert last == "left out: e, f; --json and --format csv show them"
    assert max(map(len, [*lines, last])) <= 80


def test_shortening_counts_wide_characters() -> None:
    assert shortened("short", 5) == "short"
    assert shortened("abcdefgh", 5) == "ab…gh"
    assert cell_len(shortened("図書館図書館", 7)) <= 7
