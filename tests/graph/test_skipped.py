"""What cannot be an edge is counted, and never stops a fetch."""

from __future__ import annotations

import csv
import gc
import gzip
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import BNode, Dataset, Graph, Literal, URIRef

from kgsync.errors import TransientStoreError
from kgsync.graph.change import ChangeSet
from kgsync.graph.port import TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.split import Splitter
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Fetched, fetch
from tests.graph.comparing import Comparing
from tests.graph.graphs import (
    EX,
    NEW,
    OLD,
    Graphs,
    as_edges,
    base_of,
    edges,
    ntriples,
    oxigraph,
    rdflib_dataset,
    scanned,
)

GOOD = ntriples(edges("a p b"))
KINDS: dict[str, Callable[[Graphs], object]] = {"oxigraph": oxigraph, "rdflib": rdflib_dataset}

LITERALS = {
    "plain": '"text"',
    "language": '"text"@de-CH',
    "direction": '"<http://example.org/looks-like-an-iri>"',
    "integer": '"7"^^<http://www.w3.org/2001/XMLSchema#integer>',
    "double": '"1e3"^^<http://www.w3.org/2001/XMLSchema#double>',
    "boolean": '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
    "own datatype": f'"x"^^<{EX}type>',
    "empty": '""',
    "looks blank": '"_:x"',
    "line breaks and tabs": r'"a\n\r\t\"b\\\u000B\u2028"',
}


def read(graphs: Graphs, kind: str = "oxigraph") -> Fetched:
    store = KINDS[kind](graphs)
    return fetch(open_store(store), TripleSource(OLD), TermIndex(), None)


def lenient(ntriples: str) -> ox.Store:
    """A store that took IRIs as they came."""
    return oxigraph({OLD: ntriples}, lenient=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("literal", LITERALS.values(), ids=list(LITERALS))
def test_a_literal_is_counted_as_a_literal(kind: str, literal: str) -> None:
    found = read({OLD: GOOD + f"<{EX}a> <{EX}p> {literal} .\n"}, kind)
    assert found.skipped == Skipped(literals=1)
    assert found.triples == 2
    assert as_edges(found.edges, found.terms) == edges("a p b")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("triple", [f"_:x <{EX}p> <{EX}a> .", f"<{EX}a> <{EX}p> _:x ."])
def test_a_blank_node_is_counted_wherever_it_stands(kind: str, triple: str) -> None:
    assert read({OLD: GOOD + triple}, kind).skipped == Skipped(blank_nodes=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_triple_with_two_reasons_counts_once(kind: str) -> None:
    found = read({OLD: GOOD + f'_:x <{EX}p> "text" .\n_:x <{EX}p> _:y .\n'}, kind)
    assert found.skipped == Skipped(literals=1, blank_nodes=1)
    assert found.triples == len(found.edges) + 2


def test_a_term_that_only_occurs_in_skipped_triples_gets_no_id() -> None:
    found = read({OLD: GOOD + f'<{EX}only> <{EX}name> "text" .\n<{EX}only> <{EX}p> _:x .\n'})
    assert found.terms.entities.iris.to_pylist() == [EX + "a", EX + "b"]
    assert found.terms.relations.iris.to_pylist() == [EX + "p"]


def test_a_triple_term_is_counted_as_quoted() -> None:
    found = read({OLD: GOOD + f'<{EX}a> <{EX}p> <<( <{EX}a> <{EX}p> "x" )>> .\n'})
    assert found.skipped == Skipped(quoted_triples=1)
    assert found.triples == 2


def test_a_triple_term_is_counted_as_quoted_also_after_a_careful_scan() -> None:
    quoted = f"<{EX}a> <{EX}p> <<( <{EX}a> <{EX}p> <{EX}b> )>> .\n"
    store = lenient(GOOD + quoted + f"<{EX}a> <{EX}p> <{EX}line\\u000Abreak> .\n")
    found = fetch(open_store(store), TripleSource(OLD), TermIndex(), None)
    assert found.skipped == Skipped(invalid_iris=1, quoted_triples=1)


INVALID = {
    "space": r"http://example.org/a\u0020b",
    "tab": r"http://example.org/a\u0009b",
    "line break": r"http://example.org/a\u000Ab",
    "carriage return": r"http://example.org/a\u000Db",
    "closing bracket": r"http://example.org/a\u003Eb",
    "opening bracket": r"http://example.org/a\u003Cb",
    "quote": r"http://example.org/a\u0022b",
    "brace": r"http://example.org/a\u007Bb",
    "backslash": r"http://example.org/a\u005Cb",
    "caret": r"http://example.org/a\u005Eb",
    "null": r"http://example.org/a\u0000b",
    "relative": "a/b",
    "empty": "",
    "another row": r"http://example.org/a\u003E\u000A\u003Cx:s\u003E\u0009\u003Cx:p\u003E\u0009\u003Cx:o",
}


@pytest.mark.parametrize("iri", INVALID.values(), ids=list(INVALID))
@pytest.mark.parametrize("place", ["subject", "predicate", "object"])
def test_an_invalid_iri_is_counted_wherever_it_stands(iri: str, place: str) -> None:
    terms = {"subject": EX + "a", "predicate": EX + "p", "object": EX + "b", place: iri}
    store = lenient(GOOD + " ".join(f"<{term}>" for term in terms.values()) + " .\n")
    found = fetch(open_store(store), TripleSource(OLD), TermIndex(), None)
    assert found.skipped == Skipped(invalid_iris=1)
    assert found.triples == 2
    assert as_edges(found.edges, found.terms) == edges("a p b")


@pytest.mark.parametrize("name", ["tab", "line break", "carriage return"])
def test_a_raw_line_break_or_tab_breaks_the_plain_scan_and_not_the_careful_one(name: str) -> None:
    reader = open_store(lenient(GOOD + f"<{EX}a> <{EX}p> <{INVALID[name]}> .\n"))
    with pytest.raises(TransientStoreError, match="malformed row"):
        scanned(reader, TripleSource(OLD))
    careful = scanned(reader, TripleSource(OLD), careful=True)
    assert len(careful) == 2
    assert (f"<{EX}a>", f"<{EX}p>", f"<{EX}b>") in careful


def test_a_line_break_in_an_answer_of_many_blocks_is_survived() -> None:
    many = frozenset((f"{EX}s{i}", EX + "p", f"{EX}o{i}") for i in range(30_000))
    broken = f"<{EX}a> <{EX}p> <{INVALID['line break']}> .\n"
    found = fetch(
        open_store(lenient(ntriples(many) + broken)), TripleSource(OLD), TermIndex(), None
    )
    assert found.skipped == Skipped(invalid_iris=1)
    assert len(found.edges) == 30_000


def test_an_iri_with_a_line_break_does_not_stop_a_difference() -> None:
    broken = f"<{EX}a> <{EX}p> <{INVALID['line break']}> .\n"
    store = oxigraph({OLD: GOOD, NEW: ntriples(edges("a p c")) + broken}, lenient=True)
    reader = Comparing(store)
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    found = fetch(reader, TripleSource(NEW), first.terms, base_of(first, TripleSource(OLD)))
    assert found.way == "scan"
    assert found.skipped == Skipped(invalid_iris=1)
    assert as_edges(found.edges, found.terms) == edges("a p c")


def test_a_failed_difference_lets_go_of_the_directory(tmp_path: Path) -> None:
    broken = f"<{EX}a> <{EX}p> <{INVALID['line break']}> .\n"
    graphs = {OLD: GOOD, NEW: ntriples(edges("a p c")) + broken}
    oxigraph(graphs, tmp_path, lenient=True).flush()
    reader = open_store(tmp_path)
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    fetch(reader, TripleSource(NEW), first.terms, base_of(first, TripleSource(OLD)))
    reader.close()
    gc.collect()
    again = open_store(tmp_path)
    assert again.graphs() == [OLD, NEW]
    again.close()


def test_iris_that_spell_rows_cannot_forge_a_difference() -> None:
    """In TSV each of the two hostile IRIs reads as two well-formed rows, so the sums agree."""

    def hostile(first: str, second: str) -> str:
        between = rf"\u003E\u000A\u003C{EX}x\u003E\u0009\u003C{EX}p\u003E\u0009\u003C"
        return f"<{EX}s> <{EX}p> <{EX}{first}{between}{EX}{second}> .\n"

    kept = edges("s p a", "x p b")
    store = oxigraph(
        {OLD: ntriples(kept) + hostile("a", "b"), NEW: ntriples(kept) + hostile("c", "d")},
        lenient=True,
    )
    reader = Comparing(store)
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    found = fetch(reader, TripleSource(NEW), first.terms, base_of(first, TripleSource(OLD)))
    assert as_edges(found.edges, found.terms) == kept
    assert found.skipped == Skipped(invalid_iris=1)


def test_skipped_counts_follow_a_difference() -> None:
    old = GOOD + f'<{EX}a> <{EX}p> "1" .\n<{EX}a> <{EX}p> "2" .\n_:x <{EX}p> <{EX}a> .\n'
    new = GOOD + f'<{EX}a> <{EX}p> "2" .\n<{EX}a> <{EX}p> <not\\u0020valid> .\n'
    reader = Comparing(oxigraph({OLD: old, NEW: new}, lenient=True))
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    found = fetch(reader, TripleSource(NEW), first.terms, base_of(first, TripleSource(OLD)))
    assert found.way == "difference"
    assert found.skipped == Skipped(literals=1, invalid_iris=1)


@pytest.mark.parametrize(
    "iri", ["relative", "", "http://example.org/a b", "http://example.org/a\nb\tc", "//host/a"]
)
def test_invalid_iris_of_rdflib_are_counted(iri: str) -> None:
    dataset = rdflib_dataset({OLD: GOOD})
    dataset.graph(URIRef(OLD)).add((URIRef(EX + "a"), URIRef(EX + "p"), URIRef(iri)))
    found = fetch(open_store(dataset), TripleSource(OLD), TermIndex(), None)
    assert found.skipped == Skipped(invalid_iris=1)
    assert as_edges(found.edges, found.terms) == edges("a p b")


def test_half_a_surrogate_pair_in_an_iri_does_not_stop_a_fetch() -> None:
    graph = Graph().parse(data=GOOD + f"<{EX}a> <{EX}p> <{EX}\\uD800> .\n", format="nt")
    found = fetch(open_store(graph), TripleSource(None), TermIndex(), None)
    assert found.skipped == Skipped(invalid_iris=1)
    assert as_edges(found.edges, found.terms) == edges("a p b")


def test_a_literal_in_front_is_counted_too() -> None:
    dataset = Dataset()
    dataset.default_graph.add((Literal("x"), URIRef(EX + "p"), BNode()))
    dataset.default_graph.add((Literal("x"), URIRef(EX + "p"), URIRef(EX + "b")))
    found = fetch(open_store(dataset), TripleSource(None), TermIndex(), None)
    assert found.skipped == Skipped(literals=1, blank_nodes=1)


def test_rows_that_a_scope_leaves_unbound_are_no_edges() -> None:
    scope = (
        f"SELECT ?s ?p ?o WHERE {{ GRAPH $graph {{ ?s ?p ?x . OPTIONAL {{ ?x <{EX}q> ?o }} }} }}"
    )
    graphs = {OLD: ntriples(edges("a p b", "c p d", "b q e"))}
    for store in (oxigraph(graphs), rdflib_dataset(graphs)):
        found = fetch(open_store(store), TripleSource(OLD, scope), TermIndex(), None)
        assert as_edges(found.edges, found.terms) == edges("a p e")
        assert found.triples == 3
        assert found.skipped == Skipped(literals=2)


def test_skipped_counts_add_and_subtract() -> None:
    one, two = Skipped(1, 2, 3, 4), Skipped(10, 20, 30, 40)
    assert one.plus(two) == Skipped(11, 22, 33, 44)
    assert two.plus(one, -1) == Skipped(9, 18, 27, 36)


# -- real data -------------------------------------------------------------------------------------


def numbers(real_data: Path, version: int) -> dict[str, int]:
    """What the data set's own table says about one version."""
    with (real_data / "nomisma" / "versions.tsv").open(newline="") as file:
        row = list(csv.DictReader(file, delimiter="\t"))[version]
    return {name: int(value) for name, value in row.items() if value.isdigit()}


def unpacked(path: Path) -> str:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read()


def test_real_data_differs_from_its_own_numbers_by_three_invalid_iris(real_data: Path) -> None:
    base = unpacked(real_data / "nomisma" / "base.nt.gz")
    found = fetch(open_store(lenient(base)), TripleSource(OLD), TermIndex(), None)
    own = numbers(real_data, 0)
    assert found.triples == own["triples_iri"] == 50_702
    # Three edges end in a DBpedia IRI with a space in it ("Stara Zagora", "Ancient Libya",
    # "Odrysian kingdom"), which the table counts and no SPARQL query could name. Each of the
    # three is the only edge of its tail, so three entities are missing as well.
    assert found.skipped == Skipped(invalid_iris=3)
    assert len(found.edges) == own["triples_iri"] - 3
    assert len(found.terms.entities) == own["entities"] - 3
    assert len(found.terms.relations) == own["relations"]
    # The table's triples_all counts the literals too; the file leaves them out.
    assert own["triples_all"] > found.triples


def test_the_change_of_real_data_is_what_its_own_numbers_say(real_data: Path) -> None:
    folder = real_data / "nomisma"
    lines = set(unpacked(folder / "base.nt.gz").splitlines())
    changed = lines - set(unpacked(folder / "changes" / "0001.removed.nt.gz").splitlines())
    changed |= set(unpacked(folder / "changes" / "0001.added.nt.gz").splitlines())
    store = oxigraph({OLD: "\n".join(lines), NEW: "\n".join(changed)}, lenient=True)
    reader = Comparing(store)
    first = fetch(reader, TripleSource(OLD), TermIndex(), None)
    second = fetch(reader, TripleSource(NEW), first.terms, base_of(first, TripleSource(OLD)))
    counts = ChangeSet.between(first.edges, second.edges, second.terms, Splitter(0, 0)).counts()
    own = numbers(real_data, 1)
    # The three edges with invalid IRIs are in both versions, so the change is the same without.
    assert second.way == "difference"
    assert len(second.edges) == own["triples_iri"] - 3
    assert {
        "triples_added": counts.added_triples[0],
        "triples_removed": counts.deleted_triples[0],
        "entities_added": counts.added_entities,
        "entities_removed": counts.deleted_entities,
        "relations_added": counts.added_relations,
        "relations_removed": counts.deleted_relations,
    }.items() <= own.items()
