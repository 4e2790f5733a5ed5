"""Reading raw files: what is read, and how what is wrong is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgsync.errors import ConfigError
from kgsync.snapshots.facts import Facts
from kgsync.snapshots.plain import read_static, read_timed
from tests.graph.graphs import edge_list
from tests.snapshots.files import ENTITY, NAMING, RELATION, write

Read = Callable[[list[Path]], Facts]


def rows(facts: Facts) -> list[tuple[str, ...]]:
    """The facts in their order, by name, with their times."""
    columns = zip(
        facts.terms.entities.names(facts.heads).to_pylist(),
        facts.terms.relations.names(facts.relations).to_pylist(),
        facts.terms.entities.names(facts.tails).to_pylist(),
        strict=True,
    )
    short = [
        (s.removeprefix(ENTITY), p.removeprefix(RELATION), o.removeprefix(ENTITY))
        for s, p, o in columns
    ]
    if facts.times is None:
        return list(short)
    return [(*edge, str(time)) for edge, time in zip(short, facts.times, strict=True)]


def test_a_file_of_three_fields_is_named_for_its_relation(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "asks.txt.gz", "1 2 30", "2 2 10"),
        write(tmp_path / "answers.txt", "2 1 20"),
    ]
    assert rows(read_timed(files, NAMING)) == [
        ("1", "asks", "2", "30"),
        ("2", "asks", "2", "10"),
        ("2", "answers", "1", "20"),
    ]


def test_four_fields_have_their_relation_and_dates_become_seconds(tmp_path: Path) -> None:
    path = write(tmp_path / "icews.txt", "A b\tmeets\tC\t1970-01-02", "C\tmeets\tA b\t1970-01-01")
    assert rows(read_timed([path], NAMING)) == [
        ("A%20b", "meets", "C", "86400"),
        ("C", "meets", "A%20b", "0"),
    ]


def test_static_facts_keep_names_that_look_like_nothing_or_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "train.txt", 'null\t"is"\t007', "NaN\tis\t7")
    assert rows(read_static([path], NAMING)) == [("null", "%22is%22", "007"), ("NaN", "is", "7")]


def test_empty_lines_and_carriage_returns_do_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "", "1 2 3\r", "", "2 1 4\r", "")
    assert rows(read_timed([path], NAMING)) == [("1", "a", "2", "3"), ("2", "a", "1", "4")]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("1 2 3", "", "1 2"), "line 3: expected 3 fields, found 2"),
        (("1 2 3", "1 2 3 4"), "line 2: expected 3 fields, found 4"),
        (("1 2 3", "1 2 soon"), "line 2: the time must be a 64-bit whole number, not 'soon'"),
        (("1 2 3", "1 2 3.5"), "line 2: the time must be a 64-bit whole number, not '3.5'"),
        (("1 2 3", "1 2 NA"), "line 2: the time must be a 64-bit whole number, not 'NA'"),
        ((f"1 2 {2**63 - 1}", f"1 2 {2**63}"), f"64-bit whole number, not '{2**63}'"),
        (("1 2 3", "1 2 "), "line 2: the time is empty"),
        (("1\t2\t3", "1\t\t4"), "line 2: the tail is empty"),
        (("a\tr\tb\t2020-01-01", "a\tr\tb\t2020-13-01"), "line 2: the time must be an ISO date"),
        (("1 2",), "line 1: expected the fields head, tail and time"),
        ((), "is empty"),
        (("", ""), "is empty"),
    ],
)
def test_a_malformed_row_is_named_by_file_and_line(
    tmp_path: Path, suffix: str, lines: tuple[str, ...], message: str
) -> None:
    path = write(tmp_path / f"facts.txt{suffix}", *lines)
    with pytest.raises(ConfigError) as error:
        read_timed([path], NAMING)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_a_malformed_row_far_down_is_found(tmp_path: Path) -> None:
    lines = [f"{'long-name' * 12} 2 3"] * 300_000  # 33 MB, of which the reader sees 16 at a time
    lines[250_000] = "1 2 x"
    with pytest.raises(ConfigError, match="line 250001: the time"):
        read_timed([write(tmp_path / "facts.txt", *lines)], NAMING)


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "facts.txt"
    path.write_bytes(b"a\tr\tb\na\tr\t\xff\n")
    with pytest.raises(ConfigError, match="line 2: the tail is not UTF-8"):
        read_static([path], NAMING)


@pytest.mark.parametrize(
    "read", [lambda paths: read_timed(paths, NAMING), lambda paths: read_static(paths, NAMING)]
)
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, read: Read) -> None:
    with pytest.raises(ConfigError, match=r"there is no file .*none\.txt"):
        read([tmp_path / "none.txt"])
    whole = write(tmp_path / "half.txt.gz", *(f"{i}\t{i * 7}\t{i * 11}" for i in range(9_000)))
    whole.write_bytes(whole.read_bytes()[:-2_000])
    with pytest.raises(ConfigError, match=r"cannot read .*half\.txt\.gz"):
        read([whole])
    whole.write_bytes(b"this is no gzip file")
    with pytest.raises(ConfigError, match=r"cannot read .*half\.txt\.gz"):
        read([whole])


def test_ids_are_those_of_the_sorted_iris(tmp_path: Path) -> None:
    facts = read_static([write(tmp_path / "f", "b\tq\ta", "a\tp\tb", "b\tq\ta")], NAMING)
    assert facts.terms.entities.iris.to_pylist() == [ENTITY + "a", ENTITY + "b"]
    assert facts.heads.tolist() == [1, 0, 1]
    assert len(facts) == 3
    assert len(list(edge_list(facts.snapshot(), facts.terms))) == 2
