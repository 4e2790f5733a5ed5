"""Histories as change files: small ones, and the real one of nomisma.org."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync.errors import ConfigError
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from kgsync.snapshots.changes import ChangeFiles
from kgsync.snapshots.loading import Destination, load_versions
from kgsync.source.fetch import fetch
from tests.graph.graphs import EX, edge_list, edges, ntriples
from tests.snapshots.files import write

A, B, C = (f"<{EX}a> <{EX}p> <{EX}{name}> ." for name in "xyz")
NAME = f'<{EX}a> <{EX}name> "A \\u00FC # . <x>"@en .'
SPACE = f"<{EX}a> <{EX}p> <{EX}a b> ."
BLANK = f"_:b1 <{EX}p> <{EX}x> ."
ESCAPED = f"<{EX}Z\\u00FCrich> <{EX}p> <{EX}\\U0001F600> ."


def history(folder: Path, suffix: str = "") -> ChangeFiles:
    """Three versions: the base, one with both kinds of change, one with additions alone."""
    write(folder / f"base.nt{suffix}", "# the base", A, B, "", NAME, SPACE, BLANK)
    write(folder / "changes" / f"0001.added.nt{suffix}", C, ESCAPED)
    write(folder / "changes" / f"0001.removed.nt{suffix}", A, NAME)
    write(folder / "changes" / f"0002.added.nt{suffix}", A)
    return ChangeFiles.find(folder)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_version_is_complete(tmp_path: Path, suffix: str) -> None:
    files = history(tmp_path, suffix)
    built = list(files.versions())
    assert len(files) == len(built) == 3
    lines = ["".join(version.ntriples()).splitlines() for version in built]
    assert lines == [
        [A, B, NAME, SPACE, BLANK],
        [B, SPACE, BLANK, C, ESCAPED],
        [A, B, SPACE, BLANK, C, ESCAPED],
    ]
    assert [version.triples for version in built] == [5, 5, 6]
    assert [version.without_effect for version in built] == [0, 0, 0]
    zurich = (EX + "Zürich", EX + "p", EX + "😀")
    assert [set(edge_list(version.edges, version.terms)) for version in built] == [
        edges("a p x", "a p y"),
        edges("a p y", "a p z") | {zurich},
        edges("a p x", "a p y", "a p z") | {zurich},
    ]


def test_a_store_sees_the_edges_that_the_builder_sees(tmp_path: Path) -> None:
    store = open_store(ox.Store())
    destination = Destination(EX + "kg/{version}")
    built = list(history(tmp_path).versions())
    list(load_versions(store, built, destination))
    for version in built:
        fetched = fetch(store, TripleSource(destination.graph(version.name)), TermIndex(), None)
        assert fetched.triples == version.triples
        assert set(edge_list(fetched.edges, fetched.terms)) == set(
            edge_list(version.edges, version.terms)
        )


def test_changes_without_effect_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "base.nt", A, B, B)
    write(tmp_path / "changes" / "1.removed.nt", C, A)
    write(tmp_path / "changes" / "1.added.nt", B, C)
    _, second = ChangeFiles.find(tmp_path).versions()
    assert second.without_effect == 2
    assert "".join(second.ntriples()).splitlines() == [B, C]


def test_labels_and_dates_come_from_the_table(tmp_path: Path) -> None:
    write(
        tmp_path / "versions.tsv",
        "idx\tlabel\tdate",
        "0\tQ1\t2015-03-31",
        "1\tQ2_2015-06-30_abc\t",
    )
    built = list(history(tmp_path).versions())
    assert [version.title for version in built] == ["Q1", "Q2_2015-06-30_abc", "version 2"]
    assert [version.issued for version in built] == ["2015-03-31", "2015-06-30", None]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no file base\.nt"):
        ChangeFiles.find(tmp_path)
    history(tmp_path)
    (tmp_path / "changes" / "0002.added.nt").rename(tmp_path / "changes" / "0003.added.nt")
    with pytest.raises(ConfigError, match="change 0002 is missing"):
        ChangeFiles.find(tmp_path)


def test_a_table_without_numbers_is_named(tmp_path: Path) -> None:
    history(tmp_path)
    write(tmp_path / "versions.tsv", "idx\tlabel", "0\tfirst", "second\tsecond")
    with pytest.raises(ConfigError, match=r"versions\.tsv, line 3"):
        ChangeFiles.find(tmp_path)


def test_a_day_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    history(tmp_path)
    write(tmp_path / "versions.tsv", "idx\tlabel\tdate", "0\tfirst\t2020-02-30")
    with pytest.raises(ConfigError, match="2020-02-30"):
        list(ChangeFiles.find(tmp_path).versions())


@pytest.mark.parametrize(
    "line", ["oops", f"<{EX}a> <{EX}p> .", f"<{EX}a> <{EX}p> <{EX}b>", f'"a" <{EX}p> <{EX}b> .']
)
def test_a_malformed_statement_is_named_by_file_and_line(tmp_path: Path, line: str) -> None:
    write(tmp_path / "base.nt.gz", A, "# fine", "", line)
    with pytest.raises(ConfigError, match=r"base\.nt\.gz, line 4"):
        list(ChangeFiles.find(tmp_path).versions())


def test_a_return_is_the_same_line_again(tmp_path: Path) -> None:
    write(tmp_path / "base.nt", *ntriples(edges("a p b", "b p c")).splitlines())
    for number in range(1, 6):
        kind = "removed" if number % 2 else "added"
        write(tmp_path / "changes" / f"{number}.{kind}.nt", f"<{EX}a> <{EX}p> <{EX}b> .")
    built = list(ChangeFiles.find(tmp_path).versions())
    assert [len(version.edges) for version in built] == [2, 1, 2, 1, 2, 1]
    assert built[0].edges == built[2].edges == built[4].edges


@pytest.fixture(scope="module")
def nomisma(real_data: Path) -> Path:
    folder = real_data / "nomisma"
    if not folder.is_dir():
        pytest.skip("the nomisma history is not among the real data")
    return folder


@pytest.mark.torture
def test_the_real_history_has_the_counts_of_its_table(nomisma: Path) -> None:
    with (nomisma / "versions.tsv").open() as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    files = ChangeFiles.find(nomisma)
    built = list(files.versions())
    assert len(files) == len(built) == len(table) == 43
    for version, row in zip(built, table, strict=True):
        assert version.triples == int(row["triples_iri"])
        # A few IRIs have spaces: their triples are loaded, but they are no edges.
        invalid = version.triples - len(version.edges)
        assert 0 <= invalid <= 35
        assert int(row["entities"]) - 6 <= len(version.edges.entities) <= int(row["entities"])
        assert len(version.edges.relation_ids) == int(row["relations"])
        assert version.issued is not None
        assert version.without_effect == 0
    assert any(len(version.edges) < version.triples for version in built)
    for (old, new), row in zip(pairwise(built), table[1:], strict=True):
        assert old.issued < new.issued  # type: ignore[operator]
        if old.triples == len(old.edges) and new.triples == len(new.edges):
            assert len(new.edges.minus(old.edges)) == int(row["triples_added"])
            assert len(old.edges.minus(new.edges)) == int(row["triples_removed"])


def test_the_real_history_loads_although_iris_have_spaces(nomisma: Path, tmp_path: Path) -> None:
    with (nomisma / "versions.tsv").open() as file:
        table = list(csv.DictReader(file, delimiter="\t"))[:2]
    files = ChangeFiles.find(nomisma)
    store = open_store(tmp_path / "kg", create=True)
    versions = (version for version, _ in zip(files.versions(), table, strict=False))
    destination = Destination("http://nomisma.org/version/{version}")
    loaded = list(load_versions(store, versions, destination))
    assert [version.edges < version.triples for version in loaded] == [True] * 2
    for version, row in zip(loaded, table, strict=True):
        assert store.count(TripleSource(version.graph)) == int(row["triples_iri"])
        fetched = fetch(store, TripleSource(version.graph), TermIndex(), None)
        assert len(fetched.edges) == version.edges
        assert fetched.skipped.invalid_iris == version.triples - version.edges
    store.close()
