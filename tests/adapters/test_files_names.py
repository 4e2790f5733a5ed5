"""No file that may hold triples is passed over: names, places, syntaxes, compressions, hours."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from kgsync.errors import ConfigError, PermanentStoreError, TransientStoreError
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store, store_name
from kgsync.graph.versions import find_versions
from kgsync.snapshots.changes import ChangeFiles
from tests.adapters.test_files import A, B, C, P, read_all, write
from tests.graph.graphs import EX, as_edges, edges, scanned

GOOD, OTHER = f"{A} {P} {B} .", f"{B} {P} {C} ."
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML = (
    f'<r:RDF xmlns:r="{RDF}" xmlns:x="{EX}"><r:Description r:about="{EX}a">'
    f'<x:p r:resource="{EX}b"/></r:Description></r:RDF>'
)
SYNTAXES = {
    ".jsonld": f'{{"@id": "{EX}a", "{EX}p": {{"@id": "{EX}b"}}}}',
    ".n3": f"@prefix x: <{EX}> . x:a x:p x:b .",
    ".nq": GOOD,
    ".nt": GOOD,
    ".owl": XML,
    ".rdf": XML,
    ".trig": f"@prefix x: <{EX}> . {{ x:a x:p x:b }}",
    ".ttl": f"@prefix x: <{EX}> . x:a x:p x:b .",
    ".xml": XML,
}


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd,
}


def history(folder: Path) -> Path:
    """A base and one change that removes it and adds another edge."""
    write(folder / "base.nt", [GOOD])
    write(folder / "changes/0001.added.nt", [OTHER])
    return folder


def last_edges(folder: Path) -> set[tuple[str, str, str]]:
    last = read_all(folder)[-1]
    return set(as_edges(last.edges, last.terms))


# -- names that are not recognized -----------------------------------------------------------------

STRANGE = [
    "0001.deleted.nt",
    "0001.removed",
    "0001.removed.csv",
    "0001.removed.nt.bak",
    "0001.removed.nt.txt",
    "0001.removed.nt.xz",
    "0001.removed.rdfxml",
    "0001.removed.txt",
    "0001_removed.nt",
    "base.nt",
    "more.zip",
    "removed-0001.ttl",
]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("place", ["changes", "2024/01/31/10"])
def test_a_strange_name_among_changes_is_an_error_that_names_it(
    tmp_path: Path, place: str, name: str
) -> None:
    write(tmp_path / place / "000000.added.nt", [OTHER])
    write(tmp_path / place / name, [GOOD])
    with pytest.raises(PermanentStoreError, match=rf"{name} .*0001\.removed\.nt.*\.zst"):
        open_store(tmp_path).graphs()


@pytest.mark.parametrize("name", STRANGE)
def test_the_builder_of_versions_refuses_the_same_names(tmp_path: Path, name: str) -> None:
    history(tmp_path)
    write(tmp_path / "changes" / name, [GOOD])
    with pytest.raises(ConfigError, match=rf"{name} .*not recognized"):
        ChangeFiles.find(tmp_path)


def test_the_builder_of_versions_names_what_it_cannot_read(tmp_path: Path) -> None:
    history(tmp_path)
    write(tmp_path / "changes/0001.removed.nt.bz2", [GOOD])
    *_, last = ChangeFiles.find(tmp_path).versions()
    assert last.lines.to_pylist() == [OTHER]
    write(tmp_path / "changes/0002.clear.nt", [GOOD])
    with pytest.raises(ConfigError, match=r"0002\.clear\.nt: only added and removed N-Triples"):
        ChangeFiles.find(tmp_path)


def test_changes_in_the_folder_itself_are_told_from_dumps(tmp_path: Path) -> None:
    write(tmp_path / "base.nt", [GOOD])
    write(tmp_path / "0001.added.nt", [OTHER])
    write(tmp_path / "0001.deleted.nt", [GOOD])
    with pytest.raises(PermanentStoreError, match=r"0001\.deleted\.nt .*not recognized"):
        open_store(tmp_path).graphs()


@pytest.mark.parametrize(
    "name", ["kg-3.nt.xz", "kg-3.rdfxml", "kg-3.zip", "kg-3", "kg-3.json", "other.hdt", "kg.nt.txt"]
)
def test_a_dump_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    write(tmp_path / "kg-1.nt", [GOOD])
    write(tmp_path / "kg-2.nt.gz", [GOOD])
    write(tmp_path / name, [GOOD])
    with pytest.raises(PermanentStoreError, match=f"{name} .*not recognized"):
        find_versions(open_store(tmp_path), None, None)


def test_a_folder_with_nothing_else_is_not_taken_for_a_store(tmp_path: Path) -> None:
    write(tmp_path / "kg-1.nt.xz", [GOOD])
    with pytest.raises(PermanentStoreError, match=r"kg-1\.nt\.xz .*not recognized"):
        find_versions(open_store(tmp_path), None, None)


HARMLESS = [
    ".0002.added.nt.swp",
    "0002.added.nt.gz.part",
    "0002.removed.nt.tmp",
    "0001.added.nt.md5",
    "0001.added.nt.gz.sha256",
    "CHECKSUMS",
    "README",
    "README.md",
    "kgsync.toml",
    "lastPublishedFile.txt.new",
    "ontology.owl.html",
    "versions.tsv",
]


@pytest.mark.parametrize("place", [".", "changes"])
def test_what_may_lie_beside_is_passed_over(tmp_path: Path, place: str) -> None:
    history(tmp_path)
    for name in HARMLESS:
        (tmp_path / place / name).write_text("idx\tlabel\n" if name.endswith("tsv") else "x")
    (tmp_path / "docs").mkdir()
    assert [len(found.edges) for found in read_all(tmp_path)] == [1, 2]
    assert len(ChangeFiles.find(tmp_path)) == 2


@pytest.mark.parametrize(
    "place", ["0002.added.nt", "0002.rdfp", "2024/01/31/10/000000.added.nt", "Changes/x.txt"]
)
def test_changes_in_two_places_are_an_error(tmp_path: Path, place: str) -> None:
    history(tmp_path)
    write(tmp_path / place, [GOOD])
    with pytest.raises(PermanentStoreError, match=f"{place.partition('/')[0]} "):
        open_store(tmp_path).graphs()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("2024/1/31/11/000000.added.nt", "/2024/1 is neither an hour folder"),
        ("2024/02/31/11/000000.added.nt", "/2024/02/31/11 is neither an hour folder"),
        ("2024/01/31/24/000000.added.nt", "/2024/01/31/24 is neither an hour folder"),
        ("24/01/31/11/000000.added.nt", "/24 is neither an hour folder"),
        ("2024/01/31/10/5/000000.added.nt", "/10/5 is neither an hour folder"),
        ("2024/01/31/000000.added.nt", "is not in an hour folder"),
        ("2024/dump.nt", r"dump\.nt .*not recognized"),
    ],
)
def test_what_is_not_in_the_folder_of_an_hour_is_named(
    tmp_path: Path, place: str, message: str
) -> None:
    write(tmp_path / "2024/01/31/10/000000.added.nt", [GOOD])
    write(tmp_path / place, [GOOD])
    with pytest.raises(PermanentStoreError, match=message):
        open_store(tmp_path).graphs()


# -- hours -----------------------------------------------------------------------------------------


def test_a_missing_hour_is_a_gap_and_an_empty_folder_is_none(tmp_path: Path) -> None:
    write(tmp_path / "2023/12/31/22/000004.added.nt", [GOOD])
    write(tmp_path / "2024/01/01/00/000000.added.nt", [OTHER])
    with pytest.raises(
        PermanentStoreError, match=r"hour 2023/12/31/23 is missing .* but 2024/01/01"
    ):
        open_store(tmp_path).graphs()
    (tmp_path / "2023/12/31/23").mkdir()
    assert len(open_store(tmp_path).graphs()) == 2


def test_an_hour_that_is_not_published_yet_cannot_be_missing(tmp_path: Path) -> None:
    write(tmp_path / "2024/01/31/10/000000.added.nt", [GOOD])
    write(tmp_path / "2024/01/31/14/000000.added.nt", [OTHER])
    (tmp_path / "lastPublishedFile.txt").write_text("2024-01-31-10-000000")
    assert len(open_store(tmp_path).graphs()) == 1


# -- syntaxes and compressions ---------------------------------------------------------------------


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_syntax_is_read_as_dump_and_as_change(
    tmp_path: Path, syntax: str, compression: str
) -> None:
    data = COMPRESSIONS[compression](SYNTAXES[syntax].encode())
    single = tmp_path / f"my kg{syntax}{compression}"
    single.write_bytes(data)
    assert scanned(open_store(single), TripleSource(None)) == [(A, P, B)]
    assert store_name(single) == "my-kg"
    folder = tmp_path / "history"
    write(folder / "base.nt", [GOOD, OTHER])
    write(folder / "changes/0001.added.nt", [])
    (folder / f"changes/0001.removed{syntax}{compression}").write_bytes(data)
    assert last_edges(folder) == edges("b p c")
    (folder / f"changes/0002.added{syntax}{compression}").write_bytes(data)
    assert last_edges(folder) == edges("a p b", "b p c")


@pytest.mark.parametrize("name", ["0001.Removed.NT", "0001.REMOVED.nt.GZ", "0001.removed.Ttl"])
def test_capital_letters_do_not_hide_a_change(tmp_path: Path, name: str) -> None:
    history(tmp_path)
    data = GOOD.encode()
    (tmp_path / "changes" / name).write_bytes(gzip.compress(data) if name.endswith(".GZ") else data)
    assert last_edges(tmp_path) == edges("b p c")


def test_a_dump_in_capital_letters_is_a_version(tmp_path: Path) -> None:
    write(tmp_path / "KG-1.NT", [GOOD])
    (tmp_path / "KG-2.NT.GZ").write_bytes(gzip.compress(OTHER.encode()))
    assert open_store(tmp_path).graphs() == ["file:KG-1.NT", "file:KG-2.NT"]


def test_patches_may_be_compressed_by_zstandard(tmp_path: Path) -> None:
    (tmp_path / "1.rdfp.zst").write_bytes(zstd(f"TX .\nA {GOOD}\nTC .\n".encode()))
    assert last_edges(tmp_path) == edges("a p b")


def test_all_frames_of_a_zstandard_file_are_read(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18\x05\x00\x00\x00hello"
    frames = [zstd(f"{A} {P} <{EX}{n}> .\n".encode()) for n in range(50)]
    (tmp_path / "kg.nt.zst").write_bytes(skipped.join(frames))
    assert open_store(tmp_path / "kg.nt.zst").count(TripleSource(None)) == 50


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".zst"])
def test_no_cut_of_a_compressed_file_goes_unnoticed(tmp_path: Path, compression: str) -> None:
    data = COMPRESSIONS[compression](GOOD.encode())
    path = tmp_path / f"kg.nt{compression}"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(TransientStoreError, match="ends too early"):
            open_store(path).count(TripleSource(None))


def test_all_streams_of_a_bzip2_file_are_read_or_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kg.nt.bz2"
    first, second = (bz2.compress(line.encode() + b"\n") for line in (GOOD, OTHER))
    path.write_bytes(first + second)
    assert open_store(path).count(TripleSource(None)) == 2
    path.write_bytes(first + b"x" + second[1:])
    with pytest.raises(PermanentStoreError, match=r"cannot read .*kg\.nt\.bz2"):
        open_store(path).count(TripleSource(None))


@pytest.mark.parametrize("data", [b"<http://x/a> .", zstd(GOOD.encode()) + b"and more"])
def test_what_is_not_zstandard_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "kg.nt.zst").write_bytes(data)
    with pytest.raises(PermanentStoreError, match=r"cannot read .*kg\.nt\.zst"):
        open_store(tmp_path / "kg.nt.zst").count(TripleSource(None))


def test_the_named_graphs_of_json_ld_are_as_in_a_store(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonld"
    path.write_text(f'{{"@id": "{EX}g", "@graph": [{SYNTAXES[".jsonld"]}]}}')
    store = open_store(path)
    assert store.graphs() == [EX + "g"]
    assert scanned(store, TripleSource(EX + "g")) == [(A, P, B)]


def test_changes_in_two_graphs_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "changes/0001.added.nq", [f"{A} {P} {B} <{EX}g> .", f"{A} {P} {C} <{EX}h> ."])
    with pytest.raises(PermanentStoreError, match="about one graph"):
        read_all(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "kg.n3",
            f"{{ {GOOD} }} <{EX}q> {A} .",
            r"kg\.n3, near line 1: N3 formulas are not supported",
        ),
        ("kg.n3", f"?x {P} {B} .", r"kg\.n3, line 1: variables"),
        ("kg.rdf", "<r:RDF>", r"kg\.rdf, line 1"),
        ("kg.rdf", "<a>\n</b>", r"kg\.rdf, line 2: mismatched tag"),
        ("kg.jsonld", '{"@context": "http://x/", "@id": "y"}', r"kg\.jsonld, line 1: .*context"),
        ("kg.jsonld", "[1, 2", r"kg\.jsonld, line 1"),
    ],
)
def test_what_is_wrong_in_other_syntaxes_is_named(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PermanentStoreError, match=message):
        open_store(tmp_path / name).count(TripleSource(None))
