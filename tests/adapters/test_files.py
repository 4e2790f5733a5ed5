"""Files as a source: layouts, exact sets, and what is wrong with files that are."""

from __future__ import annotations

import bz2
import gzip
import shutil
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync import KGSync
from kgsync.adapters.files.store import FilesStore
from kgsync.errors import (
    ConfigError,
    PermanentStoreError,
    StoreError,
    TransientStoreError,
    VersionError,
)
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store, store_identity, store_name
from kgsync.graph.terms import TermIndex
from kgsync.graph.versions import find_versions
from kgsync.snapshots.changes import ChangeFiles
from kgsync.source.fetch import Base, Fetched, fetch
from tests.graph.graphs import EX, as_edges, edges, examples, scanned
from tests.worlds import quick_settings, versions

A, B, C = (f"<{EX}{name}>" for name in "abc")
P = f"<{EX}p>"
TERMS = (A, B, C, f"<{EX}Zürich>", f"<{EX}\\u65e5\\u672c>", '"text"', '"1"^^<http://x/i>', "_:n")
triples = st.builds(
    lambda s, o: f"{s} {P} {o} .", st.sampled_from(TERMS[:5]), st.sampled_from(TERMS)
)
Parts = tuple[list[str], list[str], list[str], list[str]]
"""Subjects to clear, triples removed, added and reinserted."""
some = st.lists(triples, max_size=6)
changes_made = st.lists(
    st.tuples(st.lists(st.sampled_from(TERMS[:5]), max_size=1), some, some, some), max_size=5
)


def write(path: Path, lines: Iterable[str]) -> Path:
    """A file of lines, compressed as its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(line + "\n" for line in lines).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)
    return path


def canonical(line: str) -> str:
    return line.encode("ascii", "backslashreplace").decode("ascii").lower()


def after(state: set[str], parts: Parts) -> set[str]:
    """Plain sets as the judge."""
    clear, removed, added, reinserted = ([canonical(line) for line in part] for part in parts)
    state = {line for line in state if not line.startswith(tuple(clear))} if clear else state
    return (state - set(removed)) | set(added) | set(reinserted)


def edges_of(state: set[str]) -> set[str]:
    return {line for line in state if '"' not in line and "_:" not in line}


# -- layouts ---------------------------------------------------------------------------------------


def numbered(folder: Path, base: Sequence[str], made: Sequence[Parts]) -> None:
    write(folder / "base.nt.gz", base)
    for number, parts in enumerate(made, 1):
        write_parts(folder / "changes" / f"{number:04}", parts, ".gz")


def hourly(folder: Path, base: Sequence[str], made: Sequence[Parts]) -> None:
    write(folder / "base.ttl.bz2", base)
    for number, parts in enumerate(made):
        hour = folder / "2024" / "01" / "31" / f"{10 + number // 2}"
        write_parts(hour / f"{number % 2:06}", parts, ".bz2")


def write_parts(stem: Path, parts: Parts, compression: str) -> None:
    clear = [f'{subject} <http://dbpedia.org/delete> " ?p ?o " .' for subject in parts[0]]
    lines = dict(zip(("clear", "removed", "added", "reinserted"), (clear, *parts[1:]), strict=True))
    for kind, some_lines in lines.items():
        if some_lines or kind == "added":
            write(stem.with_name(f"{stem.name}.{kind}.nt{compression}"), some_lines)


def patches(folder: Path, base: Sequence[str], made: Sequence[Parts]) -> None:
    write(folder / "base.nt", base)
    for number, (clear, removed, added, reinserted) in enumerate(made, 1):
        assert not clear
        aborted = ["TX .", *(f"D {line}" for line in base), "TA ."]
        rows = [f"D {line}" for line in removed] + [f"A {line}" for line in added + reinserted]
        header = [f"H id <uuid:{number}> .", f"H prev <urn:uuid:{number - 1}> ."]
        body = ["TX .", f'PA "ex" "{EX}" .', *rows, 'PD "ex" .', "TC ."]
        write(folder / "changes" / f"{number:04}.rdfp.gz", [*header, *aborted, *body])


LAYOUTS = {"numbered": numbered, "hourly": hourly, "patches": patches}


def read_all(folder: Path) -> list[Fetched]:
    """Every version of a folder, each from the one before."""
    store = open_store(folder)
    base, terms, found = None, TermIndex(), []
    for version in find_versions(store, None, None).versions:
        source = TripleSource(version.graph)
        fetched = fetch(store, source, terms, base)
        if base is not None and fetched.difference is not None:
            added, deleted = fetched.difference
            assert added == fetched.edges.minus(base.edges)
            assert deleted == base.edges.minus(fetched.edges)
        base, terms = Base(source, fetched.edges, fetched.triples, fetched.skipped), fetched.terms
        found.append(fetched)
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@examples(25)
@given(base=some, made=changes_made)
def test_any_history_is_read_as_plain_sets_would_have_it(
    tmp_path_factory: pytest.TempPathFactory, layout: str, base: list[str], made: list[Parts]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    if layout == "patches":
        made = [([], *parts[1:]) for parts in made]
    if not made:
        return
    LAYOUTS[layout](folder, base, made)
    states = [{canonical(line) for line in base}]
    for parts in made:
        states.append(after(states[-1], parts))
    store = open_store(folder)
    for state, fetched, graph in zip(
        states, read_all(folder), find_versions(store, None, None).versions, strict=True
    ):
        lines = {f"<{s}> <{p}> <{o}> ." for s, p, o in as_edges(fetched.edges, fetched.terms)}
        assert {canonical(line) for line in lines} == edges_of(state)
        source = TripleSource(graph.graph)
        rows = scanned(store, source)
        assert len(rows) == len(set(rows)) == len(state) == store.count(source)
        assert {canonical(f"{s} {p} {o} .") for s, p, o in rows} == state
    shutil.rmtree(folder)


def test_changes_are_read_instead_of_the_graph_and_a_clear_reads_all(tmp_path: Path) -> None:
    line = f"{A} {P} {B} ."
    hourly(tmp_path, [line], [([], [line], [f"{B} {P} {C} ."], []), ([B], [], [line], [])])
    assert [fetched.way for fetched in read_all(tmp_path)] == ["scan", "changes", "scan"]
    assert [fetched.triples for fetched in read_all(tmp_path)] == [1, 1, 1]


def test_literals_and_blank_nodes_of_changes_are_counted(tmp_path: Path) -> None:
    note, blank = f'{A} {P} "x"@EN .', f"_:n {P} {A} ."
    made: list[Parts] = [([], [], [note, note, blank], []), ([], [f'{A} {P} "x"@en .'], [], [])]
    numbered(tmp_path, [f"{A} {P} {B} ."], made)
    found = read_all(tmp_path)
    assert [f.way for f in found] == ["scan", "changes", "changes"]
    assert [f.triples for f in found] == [1, 3, 2]
    assert [f.skipped.literals for f in found] == [0, 1, 0]
    assert [f.skipped.blank_nodes for f in found] == [0, 1, 1]


def test_one_triple_in_two_spellings_is_one_triple(tmp_path: Path) -> None:
    text = f'{A} {P} "tab\\t\\u00fc"^^<http://www.w3.org/2001/XMLSchema#string> .'
    same = f'{A}\t{P}   "tab\t\xfc".   # a comment'
    edge, spelled = f"{A} {P} <{EX}Z\\u00fcrich> .", f"{A} {P} <{EX}Zürich> ."
    write(tmp_path / "kg.nt", ["# a dump", "", text, same, edge, spelled, spelled])
    store = open_store(tmp_path / "kg.nt")
    assert store.count(TripleSource(None)) == 2
    assert (A, P, f"<{EX}Zürich>") in scanned(store, TripleSource(None))


def test_without_a_base_the_first_change_is_the_first_version(tmp_path: Path) -> None:
    write(tmp_path / "2024/01/31/10/000007.added.nt", [f"{A} {P} {B} ."])
    (tmp_path / "2024/01/31/11").mkdir()  # an hour without changes
    write(tmp_path / "2024/01/31/12/000000.added.nt", [f"{B} {P} {C} ."])
    assert [len(fetched.edges) for fetched in read_all(tmp_path)] == [1, 2]
    assert open_store(tmp_path).graphs() == [
        "file:2024/01/31/10/000007",
        "file:2024/01/31/12/000000",
    ]


# -- dumps -----------------------------------------------------------------------------------------


def test_dumps_are_versions_in_natural_order(tmp_path: Path) -> None:
    write(tmp_path / "kg-2.nt.gz", [f"{A} {P} {B} ."])
    write(tmp_path / "kg-10.nt.gz", [f"{A} {P} {B} .", f"{B} {P} {C} ."])
    write(tmp_path / "kg-1.nt.gz", [f"{A} {P} {C} ."])
    write(tmp_path / "notes.txt", ["not RDF"])
    found = find_versions(open_store(tmp_path), None, None)
    assert [v.name for v in found.versions] == [f"file:kg-{n}.nt" for n in (1, 2, 10)]
    assert [len(f.edges) for f in read_all(tmp_path)] == [1, 1, 2]
    assert {f.way for f in read_all(tmp_path)} == {"scan"}


def test_dumps_that_are_not_named_alike_need_graphs(tmp_path: Path) -> None:
    for name in ("kg-1.nt", "kg-2.nt.bz2", "ontology.ttl"):
        write(tmp_path / name, [f"{A} {P} {B} ."])
    store = open_store(tmp_path)
    with pytest.raises(VersionError, match="set `graphs`"):
        find_versions(store, None, None)
    chosen = find_versions(store, "file:kg-{version}.nt", None).versions
    assert [v.name for v in chosen] == ["file:kg-1.nt", "file:kg-2.nt"]


@pytest.mark.parametrize("suffix", [".nt", ".nt.gz", ".nt.bz2", ".nq", ".ttl.gz", ".trig.bz2"])
def test_a_dump_may_be_of_any_format(tmp_path: Path, suffix: str) -> None:
    lines = [f"{A} {P} {B} .", f'{A} {P} "x" .', f"_:b {P} {A} .", f"{A} {P} {B} ."]
    path = write(tmp_path / f"my kg{suffix}", lines)
    for store in (open_store(path), open_store(tmp_path)):
        source = TripleSource(next(iter(store.graphs()), None))
        assert store.count(source) == len(scanned(store, source)) == 3
    assert source.graph == f"file:my%20kg{suffix.removesuffix('.gz').removesuffix('.bz2')}"
    assert store_name(path) == "my-kg"
    assert store_identity(path, tmp_path / "state") == f"../my kg{suffix}"


def test_a_single_file_is_a_live_graph_or_a_data_set(tmp_path: Path) -> None:
    path = write(tmp_path / "kg.nt", [f"{A} {P} {B} ."])
    assert find_versions(open_store(path), None, None).order == "live"
    issued, day = "<http://purl.org/dc/terms/issued>", '"2024-0{}-01"'
    quads = [f"{A} {P} {B} <{EX}kg/{n}> ." for n in (1, 2)]
    dated = [f"<{EX}kg/{n}> {issued} {day.format(3 - n)} ." for n in (1, 2)]
    output = f"<{EX}out> a <https://w3id.org/kgsync/ns#OutputGraph>"
    trig = [*dated, *(f"GRAPH <{EX}kg/{n}> {{ {A} {P} {B} }}" for n in (1, 2))]
    path = write(tmp_path / "all.trig", [*trig, f"GRAPH <{EX}out> {{ {output} }}"])
    found = find_versions(open_store(path), EX + "kg/{version}", None)
    assert found.order == "issued"
    assert [v.name for v in found.versions] == [EX + "kg/2", EX + "kg/1"]
    assert find_versions(open_store(path), None, None).versions == found.versions
    path = write(tmp_path / "all.nq", quads)
    names = find_versions(open_store(path), EX + "kg/{version}", None).versions
    assert [v.name for v in names] == [EX + "kg/1", EX + "kg/2"]


def test_the_version_table_gives_dates(tmp_path: Path) -> None:
    numbered(tmp_path, [f"{A} {P} {B} ."], [([], [], [f"{B} {P} {C} ."], [])])
    (tmp_path / "versions.tsv").write_text("idx\tlabel\n0\tQ1_2015-03-31\n1\tQ2_2015-06-30\n")
    found = find_versions(open_store(tmp_path), None, None).versions
    assert [(v.name, v.issued) for v in found] == [
        ("file:base.nt", "2015-03-31"),
        ("file:changes/0001", "2015-06-30"),
    ]


# -- what is wrong ---------------------------------------------------------------------------------

GOOD = f"{A} {P} {B} ."


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 9])


def rows(*lines: str) -> list[str]:
    return ["TX .", *lines, "TC ."]


def bad_syntax(folder: Path) -> None:
    write(folder / "base.nt", [GOOD, "# a comment", f'{A} {P} "x" .', f"{A} {P} oops ."])
    write(folder / "changes/0001.added.nt", [GOOD])


def bad_text(folder: Path) -> None:
    write(folder / "kg.nt", [GOOD]).write_bytes(GOOD.encode() + b"\n\xff\xfe\n")


def half_a_line(folder: Path) -> None:
    write(folder / "kg.nt", []).write_bytes(GOOD.encode() + b"\n<http://exa")


def bad_turtle(folder: Path) -> None:
    write(folder / "kg.ttl.gz", [GOOD, "@prefix x: <http://x/> .", "x:a x:b ."])


def cut_gzip(folder: Path) -> None:
    cut(write(folder / "kg.nt.gz", [f"{A} {P} <{EX}{n}> ." for n in range(1000)]))


def cut_bzip2(folder: Path) -> None:
    cut(write(folder / "kg.nt.bz2", [f"{A} {P} <{EX}{n}> ." for n in range(1000)]))


def no_gzip(folder: Path) -> None:
    (folder / "kg.nt.gz").write_bytes(GOOD.encode())


def gap(folder: Path) -> None:
    for number in (1, 2, 4):
        write(folder / f"changes/{number:04}.added.nt", [GOOD])


def gap_at_the_start(folder: Path) -> None:
    write(folder / "base.nt", [GOOD])
    write(folder / "changes/0003.added.nt", [GOOD])


def gap_in_an_hour(folder: Path) -> None:
    for name in ("10/000005", "10/000006", "11/000000", "11/000002"):
        write(folder / f"2024/01/31/{name}.removed.nt.gz", [GOOD])


def hour_without_its_first(folder: Path) -> None:
    for name in ("10/000005", "11/000001"):
        write(folder / f"2024/01/31/{name}.removed.nt.gz", [GOOD])


def no_head(folder: Path) -> None:
    gap(folder)
    (folder / "lastPublishedFile.txt").write_text("<html>404</html>")


def twice(folder: Path) -> None:
    write(folder / "changes/0001.added.nt", [GOOD])
    write(folder / "changes/0001.added.nt.gz", [GOOD])


def two_bases(folder: Path) -> None:
    write(folder / "changes/0001.added.nt", [GOOD])
    write(folder / "base.nt", [GOOD])
    write(folder / "other.nt", [GOOD])


def odd_clear(folder: Path) -> None:
    write(folder / "2024/01/31/10/000000.clear.nt", [GOOD])


def broken_chain(folder: Path) -> None:
    write(folder / "01.rdfp", ["H id <uuid:1> .", *rows(f"A {GOOD}")])
    write(folder / "02.rdfp", ["H id <uuid:3> .", "H prev <uuid:2> .", *rows(f"A {GOOD}")])


def missing_patch(folder: Path) -> None:
    write(folder / "01.patch", rows(f"A {GOOD}"))
    write(folder / "03.patch", rows(f"A {GOOD}"))


def half_a_patch(folder: Path) -> None:
    write(folder / "1.rdfp", [*rows(f"A {GOOD}"), "TX .", f"D {GOOD}"])


def change_outside(folder: Path) -> None:
    write(folder / "1.rdfp", [*rows(f"A {GOOD}"), f"D {GOOD}"])


def odd_row(folder: Path) -> None:
    write(folder / "1.rdfp", rows("PA ex <http://x> .", "oops ."))


def bad_row(folder: Path) -> None:
    write(folder / "1.rdfp", rows(f"A {GOOD}", f"D {A} {P} ."))


def commit_of_nothing(folder: Path) -> None:
    write(folder / "1.rdfp", ["TC ."])


def open_twice(folder: Path) -> None:
    write(folder / "1.rdfp", ["TX .", "TX ."])


def two_graphs(folder: Path) -> None:
    quads = [f"A {A} {P} {B} <{EX}g> .", f"D {A} {P} {B} <{EX}h> ."]
    write(folder / "1.rdfp", rows(*quads))


WRONG: dict[Callable[[Path], None], tuple[type[StoreError], str]] = {
    bad_syntax: (PermanentStoreError, r"base\.nt, line 4"),
    bad_text: (PermanentStoreError, r"kg\.nt, line 2: not UTF-8"),
    half_a_line: (PermanentStoreError, r"kg\.nt, line 2: Unexpected end"),
    bad_turtle: (PermanentStoreError, r"kg\.ttl\.gz, line 3"),
    cut_gzip: (TransientStoreError, r"kg\.nt\.gz ends too early"),
    cut_bzip2: (TransientStoreError, r"kg\.nt\.bz2 ends too early"),
    no_gzip: (PermanentStoreError, r"cannot read .*kg\.nt\.gz"),
    gap: (PermanentStoreError, r"change 0003 is missing in .*changes"),
    gap_at_the_start: (PermanentStoreError, r"change 0001 is missing"),
    gap_in_an_hour: (PermanentStoreError, r"change 000001 is missing in .*2024/01/31/11"),
    hour_without_its_first: (PermanentStoreError, r"change 000000 is missing in .*/11"),
    no_head: (PermanentStoreError, r"lastPublishedFile\.txt: not a change number"),
    twice: (PermanentStoreError, "are two files for the same change"),
    two_bases: (PermanentStoreError, r"base file is not clear: base\.nt, other\.nt"),
    odd_clear: (PermanentStoreError, "clear file"),
    broken_chain: (PermanentStoreError, r"02\.rdfp, line 2: the chain is broken"),
    missing_patch: (PermanentStoreError, "patch 02 is missing"),
    half_a_patch: (TransientStoreError, r"1\.rdfp, line 4: the transaction is not finished"),
    change_outside: (PermanentStoreError, r"1\.rdfp, line 4: a change outside"),
    odd_row: (PermanentStoreError, r"1\.rdfp, line 3: not a row"),
    bad_row: (PermanentStoreError, r"1\.rdfp, line 3: "),
    commit_of_nothing: (PermanentStoreError, r"1\.rdfp, line 1: TC without"),
    open_twice: (PermanentStoreError, r"1\.rdfp, line 2: the transaction of line 1"),
    two_graphs: (PermanentStoreError, "about one graph"),
}


@pytest.mark.parametrize("make", WRONG, ids=lambda make: make.__name__)
def test_what_is_wrong_is_an_error_that_names_it(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    kind, message = WRONG[make]
    with pytest.raises(kind, match=message):
        read_all(tmp_path)


def test_what_lies_beyond_the_published_head_is_not_there_yet(tmp_path: Path) -> None:
    hour = tmp_path / "2024" / "01" / "31"
    write(hour / "10/000000.added.nt.gz", [GOOD])
    write(hour / "10/000001.removed.nt.gz", [f"{A} {P} {C} ."])
    cut(write(hour / "10/000002.added.nt.gz", [GOOD]))
    (hour / "11").mkdir()
    (hour / "11/000003.added.nt.gz").write_bytes(b"")
    (tmp_path / "lastPublishedFile.txt").write_text("2024-01-31-10-000001\n")
    assert open_store(tmp_path).graphs() == [f"file:2024/01/31/10/00000{n}" for n in (0, 1)]
    assert [len(fetched.edges) for fetched in read_all(tmp_path)] == [1, 1]
    write(hour / "10/000002.added.nt.gz", [f"{B} {P} {C} ."])
    (tmp_path / "lastPublishedFile.txt").write_text("2024-01-31-10-000002")
    assert [len(fetched.edges) for fetched in read_all(tmp_path)] == [1, 1, 2]


def test_a_patch_is_made_in_its_own_order(tmp_path: Path) -> None:
    last = f"{B} {P} {C} ."
    quad = f"{A} {P} <_:b1> ."
    lines = [f"A {GOOD}", f"D {GOOD}", f"D {last}", f"A {last}", f"A {quad}"]
    write(tmp_path / "1.rdfp", rows(*lines))
    write(tmp_path / "2.rdfp", [*rows(f"A {A} {P} _:b1 ."), *rows(f"D {A} {P} _:b1 .")])
    first, second = read_all(tmp_path)
    assert as_edges(first.edges, first.terms) == edges("b p c")
    assert (first.triples, first.skipped.blank_nodes) == (2, 1)
    assert (second.way, second.triples) == ("changes", 1)


def test_a_file_that_changed_between_scan_and_count_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "kg.nt", [GOOD])
    store = FilesStore.open(path)
    assert len(scanned(store, TripleSource(None))) == 1
    write(path, [GOOD, f"{B} {P} {C} ."])
    assert store.count(TripleSource(None)) == 2


def test_a_scope_is_refused_in_clear_words(tmp_path: Path) -> None:
    path = write(tmp_path / "kg.nt", [GOOD])
    scope = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
    with pytest.raises(ConfigError, match="remove the scope"):
        open_store(path).count(TripleSource(None, scope))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.nt.gz", "there is no file .*no.nt.gz"),
        ("kg.docx", r"not a file that kgsync reads \(.nt"),
    ],
)
def test_a_mistyped_file_is_an_error_that_helps(tmp_path: Path, name: str, message: str) -> None:
    write(tmp_path / "kg.docx", [])
    with pytest.raises(PermanentStoreError, match=message):
        open_store(tmp_path / name)


def test_a_history_of_files_is_synced_from_end_to_end(tmp_path: Path) -> None:
    history = [
        {f"<{EX}{s}> <{EX}{p}> <{EX}{o}> ." for s, p, o in version}
        for version in versions().values()
    ]
    made: list[Parts] = [
        ([], sorted(old - new), sorted(new - old), []) for old, new in pairwise(history)
    ]
    here, there = tmp_path / "here", tmp_path / "there"
    numbered(here / "kg", sorted(history[0]), made)
    sync = KGSync(here / "kg", state=here / "state", settings=quick_settings())
    reports = sync.catch_up(allow_large_removal=True)
    assert [report.graph_version for report in reports] == [
        "file:base.nt",
        *(f"file:changes/000{n}" for n in (1, 2, 3)),
    ]
    assert len(sync.embedding(EX + "new")) == 8
    here.rename(there)
    moved = KGSync(there / "kg", state=there / "state", settings=quick_settings())
    assert moved.plan().graph_version is None
    write(there / "kg/changes/0004.removed.nt.gz", sorted(history[-1])[:3])
    plan = moved.plan()
    assert (plan.graph_version, plan.way) == ("file:changes/0004", "changes")


@pytest.mark.torture
def test_all_versions_of_nomisma_have_the_edges_of_the_builder(real_data: Path) -> None:
    folder = real_data / "nomisma"
    if not folder.is_dir():
        pytest.skip(f"nomisma is not in {real_data}")
    found = read_all(folder)
    built = [(len(v.edges), v.triples) for v in ChangeFiles.find(folder).versions()]
    assert len(built) == 43
    assert [(len(fetched.edges), fetched.triples) for fetched in found] == built
    assert [fetched.way for fetched in found] == ["scan", *["changes"] * 42]


def test_recorded_changes_say_what_they_add_up_to(tmp_path: Path) -> None:
    base = [f"<{EX}a> <{EX}p> <{EX}b> .", f"<{EX}b> <{EX}p> <{EX}c> ."]
    new = f"<{EX}c> <{EX}p> <{EX}d> ."
    # The first edge is removed and comes back: that is no change.
    numbered(tmp_path, base, [([], base, [new], base[:1])])
    found = read_all(tmp_path)[1]
    assert found.way == "changes"
    assert found.difference is not None
    assert [len(edges) for edges in found.difference] == [1, 1]
