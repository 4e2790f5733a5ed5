"""Files that would take all memory or all time: bounded, with an error that names them."""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

from kgsync.adapters.files import guard as files_guard
from kgsync.errors import ConfigError, PermanentStoreError
from kgsync.graph.files import rdf_bytes
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store
from kgsync.snapshots.changes import ChangeFiles
from tests.adapters.test_files import A, B, P, read_all, write
from tests.thinning import thinned

GOOD = f"{A} {P} {B} ."
HEADER = '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">'
SCRIPT = """
    import resource, sys
    from kgsync.adapters.files.store import FilesStore
    from kgsync.errors import KgsyncError
    from kgsync.graph.port import TripleSource
    from pathlib import Path

    def kilobytes(name):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith(name)))

    # Address space is no exact measure, but it spares the machine if a bound does not hold.
    most = (kilobytes("VmSize") << 10) + (2 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    before = kilobytes("VmHWM")
    try:
        store = FilesStore.open(sys.argv[1])
        print("triples", store.count(TripleSource(next(iter(store.graphs()), None))))
    except KgsyncError as error:
        print(type(error).__name__, error)
    print((kilobytes("VmHWM") - before) >> 10)
"""


def read_with(path: Path, mebibytes: int) -> str:
    """What reading a store comes to in a process of its own, with at most so much more memory."""
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answer, used = done.stdout.rstrip("\n").rsplit("\n", 1)
    assert int(used) <= mebibytes, answer
    return answer


def repeated(piece: bytes, mebibytes: int) -> bytes:
    return piece * ((mebibytes << 20) // len(piece))


# -- one line, one token, one statement ------------------------------------------------------------


@pytest.mark.parametrize("name", ["kg.nt", "kg.nq.bz2", "kg.nt.gz"])
def test_a_line_without_an_end_is_named(tmp_path: Path, name: str) -> None:
    data = GOOD.encode() + b"\n" + repeated(b"a", 120)
    pack = {".bz2": bz2.compress, ".gz": lambda data: gzip.compress(data, 1)}
    path = tmp_path / name
    path.write_bytes(pack.get(path.suffix, bytes)(data))
    assert f"{name}, line 2: longer than 64 MiB" in read_with(path, 200)


def test_a_patch_without_an_end_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.rdfp").write_bytes(b"H id " + repeated(b"a", 100))
    assert "1.rdfp: it has a line longer than 64 MiB" in read_with(tmp_path, 200)


def test_a_long_line_is_read_in_linear_time(tmp_path: Path) -> None:
    literal = f'{A} {P} "' + "a" * (48 << 20) + '" .\n'
    (tmp_path / "kg.nt").write_text(GOOD + "\n" + literal + GOOD + "\n")
    assert open_store(tmp_path / "kg.nt").count(TripleSource(None)) == 2


ENDLESS = {
    "iri.ttl": (b"<http://x/", b"a"),
    "text.ttl": (b'<http://x/a> <http://x/p> """', b"a\n"),
    "comment.trig": (b"#", b"a"),
    "blank.ttl": (b"", b"\n "),
    "text.n3": (b'<http://x/a> <http://x/p> "', b"a"),
    "text.rdf": (f"{HEADER}<x:A><x:p>".encode(), b"a"),
    "comment.rdf": (b"<!--", b"a"),
    "attribute.owl": (b'<a b="', b"a"),
    "text.jsonld": (b'{"@id": "', b"a"),
    "late.jsonld": (b'{"http://x/p": [', b'{"@id":"http://x/a"},'),
}


_TYPICAL = "iri.ttl", "comment.trig", "text.n3", "text.rdf", "text.jsonld"


@pytest.mark.parametrize("name", thinned(ENDLESS, lambda name: name in _TYPICAL))
def test_a_statement_without_an_end_is_named(tmp_path: Path, name: str) -> None:
    head, piece = ENDLESS[name]
    path = tmp_path / name
    path.write_bytes(head + repeated(piece, 72))
    answer = read_with(path, 700 if name == "late.jsonld" else 200)
    assert answer.startswith("PermanentStoreError"), answer
    assert f"{name}, " in answer


def test_a_line_that_pyoxigraph_cannot_buffer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kg.nt"
    path.write_text(f'{GOOD}\n{A}  {P} "{"a" * (20 << 20)}" .\n')
    with pytest.raises(PermanentStoreError, match=r"kg\.nt, between lines 2 and 2: .* too long"):
        open_store(path).count(TripleSource(None))


# -- nesting ---------------------------------------------------------------------------------------

NESTED = {
    "list.ttl": (b"<http://x/a> <http://x/p> ", b"("),
    "nodes.ttl": (b"<http://x/a> <http://x/p> ", b"[<http://x/p> "),
    "nodes.trig": (b"<http://x/g> { <http://x/a> <http://x/p> ", b"[<http://x/p> "),
    "disguised.ttl": (b"<http://x/a> <http://x/p> ", b'(\')\' """)""" <http://x/)> #)\n'),
    "triples.ttl": (b"", b"<<"),
    "formulas.n3": (b"", b"{"),
    "elements.rdf": (HEADER.encode(), b"<x:A><x:p>"),
    "arrays.jsonld": (b"", b"["),
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_nested_too_deep_is_named(tmp_path: Path, name: str) -> None:
    head, piece = NESTED[name]
    path = tmp_path / name
    path.write_bytes(head + repeated(piece, 16))
    answer = read_with(path, 200)
    assert answer.startswith("PermanentStoreError"), answer
    assert f"{name}, " in answer


def test_brackets_in_texts_iris_and_comments_are_no_nesting(tmp_path: Path) -> None:
    path = tmp_path / "kg.ttl"
    lines = ["@prefix x: <http://x/> ."]
    for n in range(5_000):
        lines.append(f'<http://x/({n}> x:p "(", \'[\', """{{ "(" \\""" """, "\\"(" . # (((')
        lines.append(f"x:\\(n{n} x:q [ x:p ( x:a [] ) ] .")
    path.write_text("\n".join(lines))
    assert open_store(path).count(TripleSource(None)) == 5_000 * (4 + 6)


@pytest.mark.parametrize("cut", range(1, 9))
def test_brackets_are_counted_across_the_pieces_of_a_file(cut: int) -> None:
    text = b"""<a> <(> "\\"(" , ''' ' '( ''' , "" , "(" , [ <p> << <a> <b> "" >> ] . #('\n [ """
    brackets = files_guard.Brackets()
    for at in range(0, len(text), cut):
        brackets.see(text[at : at + cut])
    brackets.see(b"   ")
    assert brackets._open == 1


def test_entities_made_of_entities_are_refused(tmp_path: Path) -> None:
    names = "abcdefghij"
    declared = ['<!ENTITY a "aaaaaaaaaa">']
    for before, name in pairwise(names):
        declared.append(f'<!ENTITY {name} "{f"&{before};" * 10}">')
    text = f"<!DOCTYPE r [{''.join(declared)}]>{HEADER}<x:A><x:p>&j;</x:p></x:A></r:RDF>"
    (tmp_path / "kg.rdf").write_text(text)
    assert "kg.rdf, near line 1: entities stand for" in read_with(tmp_path / "kg.rdf", 200)


def test_a_large_entity_that_is_repeated_is_refused(tmp_path: Path) -> None:
    text = f'<!DOCTYPE r [<!ENTITY a "{"a" * 100_000}">]>{HEADER}<x:A><x:p>{"&a;" * 300_000}'
    (tmp_path / "kg.rdf").write_text(text)
    assert "kg.rdf, line 1: limit on input amplification" in read_with(tmp_path / "kg.rdf", 200)


def test_entities_for_namespaces_are_read(tmp_path: Path) -> None:
    declared = '<!ENTITY x "http://x/"><!ENTITY y "&x;y/">'
    text = f'<!DOCTYPE r [{declared}]>{HEADER}<x:A r:about="&y;a"/></r:RDF>'
    (tmp_path / "kg.owl").write_text(text)
    assert open_store(tmp_path / "kg.owl").count(TripleSource(None)) == 1


# -- expansion -------------------------------------------------------------------------------------


def test_a_kilobyte_that_becomes_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kg.nt.bz2"
    comments = repeated(b"#" * (1 << 19) + b"\n", 18)
    path.write_bytes(bz2.compress(comments) * 16)  # 288 MiB
    assert path.stat().st_size < 2000
    answer = read_with(path, 200)
    assert "cannot read" in answer
    assert "kg.nt.bz2: it expands to more than 256 MiB, 10,000 times its size" in answer


@pytest.mark.parametrize(
    ("name", "before", "row", "after"),
    [
        ("0001.added.nt.gz", b"", GOOD, b""),
        ("0001.rdfp.gz", b"TX .\n", f"A {GOOD}", b"TC .\n"),
    ],
)
def test_the_same_triple_over_and_over_takes_no_memory(
    tmp_path: Path, name: str, before: bytes, row: str, after: bytes
) -> None:
    data = gzip.compress(f"{row}\n".encode() * 400_000)
    path = tmp_path / name
    path.write_bytes(b"".join([gzip.compress(before), *[data] * 3, gzip.compress(after)]))
    assert path.stat().st_size < 400_000
    assert read_with(tmp_path, 150) == "triples 1"


def test_honest_data_may_be_compressed_as_well_as_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdf_bytes, "EXPANDED", 0)
    rights = "All rights reserved. " * 1000
    lines = [f'<http://x/e{n}> <http://x/rights> "{rights}" .' for n in range(500)]
    write(tmp_path / "kg.nt.bz2", lines)
    assert open_store(tmp_path / "kg.nt.bz2").count(TripleSource(None)) == 500


def test_the_builder_of_versions_has_the_same_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdf_bytes, "EXPANDED", 0)
    (tmp_path / "base.nt.bz2").write_bytes(bz2.compress(repeated(b"#" * (1 << 19) + b"\n", 8)))
    with pytest.raises(ConfigError, match=r"base\.nt\.bz2: it expands to more than"):
        list(ChangeFiles.find(tmp_path).versions())


def test_repeats_within_a_patch_keep_the_last(tmp_path: Path) -> None:
    last = [f"A {GOOD}", f"D {GOOD}", f"A {GOOD}", f"A {A} {P} {A} .", f"D {A} {P} {A} ."]
    write(tmp_path / "1.rdfp", ["TX .", *last, "TC ."])
    (found,) = read_all(tmp_path)
    assert len(found.edges) == 1
