"""One contract, every adapter: the docstrings of `kgsync.graph.port` as tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kgsync.errors import ConfigError, PermanentStoreError
from kgsync.graph.port import (
    BucketReader,
    ChangeReader,
    DifferenceReader,
    GraphStore,
    MovingReader,
    Term,
    TripleBatch,
    TripleSource,
)
from kgsync.graph.stores import ADAPTERS
from tests.adapters.kinds import KINDS, MIXED, ONE, SAME, TWO, Kind, Open
from tests.graph.graphs import (
    EX,
    edges,
    ntriples,
    scanned,
)


def kinds_of_terms(rows: list[tuple[str, str, str]]) -> Counter[tuple[str, ...]]:
    """Rows with IRIs as they are; of literals and blank nodes only what they are."""

    def reduced(term: str) -> str:
        if term.startswith("_:"):
            return "blank"
        return term if term.startswith("<") else "literal"

    return Counter(tuple(map(reduced, row)) for row in rows)


def test_no_registered_kind_of_store_lacks_this_suite() -> None:
    tested = {name.partition(",")[0] for name in KINDS}
    assert tested == set(ADAPTERS) - set(SAME)
    assert all(ADAPTERS[name] == ADAPTERS[same] for name, same in SAME.items())


# -- describing ------------------------------------------------------------------------------------


def test_a_store_has_a_label_for_messages(store: Open) -> None:
    assert store({ONE: MIXED}).label


def test_abilities_are_data(kind: Kind, store: Open) -> None:
    opened = store({ONE: MIXED})
    assert opened.capabilities.named_graphs == kind.named_graphs
    assert opened.capabilities == opened.capabilities
    assert opened.capabilities.union_default_graph != kind.default_graph


def test_a_store_has_the_methods_of_its_abilities_and_no_others(store: Open) -> None:
    opened = store({ONE: MIXED})
    able = opened.capabilities
    assert isinstance(opened, DifferenceReader) == able.difference
    assert isinstance(opened, MovingReader) == able.moving
    # Whether a folder has patches, and a server hashes, is found out by looking.
    assert isinstance(opened, ChangeReader) or not able.changes
    assert isinstance(opened, BucketReader) or able.buckets is None
    assert able.difference or able.checksums == "none"


# -- graphs ----------------------------------------------------------------------------------------


def test_graphs_are_sorted_and_do_not_name_the_default_graph(kind: Kind, store: Open) -> None:
    names = [EX + name for name in ("kg/2", "kg/10", "a", "Zürich", "kg/1")]
    text = ntriples(edges("a p b"))
    graphs: dict[str | None, str] = dict.fromkeys([*names, None], text)
    opened = store(graphs)
    assert opened.graphs() == (sorted(names) if kind.named_graphs else [])


def test_a_store_without_triples_has_no_graphs(store: Open) -> None:
    assert store({}).graphs() == []


def test_output_graphs_are_listed_too(writable: Open) -> None:
    marked = f"<{TWO}> a <https://w3id.org/kgsync/ns#OutputGraph> ."
    opened = writable({ONE: ntriples(edges("a p b"))})
    opened.update(f"INSERT DATA {{ GRAPH <{TWO}> {{ {marked} }} }}")
    assert opened.graphs() == [ONE, TWO]


def test_a_graph_named_by_a_blank_node_is_not_listed(kind: Kind, writable: Open) -> None:
    if not kind.blank_graphs:
        pytest.skip("this kind of store refuses blank nodes as names of graphs")
    opened = writable({ONE: ntriples(edges("a p b"))})
    opened.update(
        f"INSERT {{ GRAPH ?g {{ <{EX}a> <{EX}p> <{EX}b> }} }} WHERE {{ BIND(BNODE() AS ?g) }}"
    )
    assert opened.graphs() == [ONE]


def test_an_emptied_graph_is_no_graph(writable: Open) -> None:
    opened = writable({ONE: MIXED, TWO: ntriples(edges("a p b"))})
    opened.update(f"DELETE WHERE {{ GRAPH <{TWO}> {{ ?s ?p ?o }} }}")
    assert opened.graphs() == [ONE]


def test_reading_a_missing_graph_does_not_make_it(writable: Open) -> None:
    opened = writable({ONE: MIXED})
    assert opened.count(TripleSource(TWO)) == 0
    assert scanned(opened, TripleSource(TWO)) == []
    assert opened.graphs() == [ONE]


# -- select ----------------------------------------------------------------------------------------


def test_select_gives_terms_in_the_order_of_the_projection(store: Open) -> None:
    values = f'VALUES (?a ?b ?c) {{ (<{EX}x> "text"@en 42) (UNDEF "" 1.5) }}'
    assert store({}).select(f"SELECT ?c ?a ?b WHERE {{ {values} }} ORDER BY DESC(?c)") == [
        (Term("literal", "42"), Term("iri", EX + "x"), Term("literal", "text")),
        (Term("literal", "1.5"), None, Term("literal", "")),
    ]


def test_select_tells_blank_nodes_apart(kind: Kind, queryable: Open) -> None:
    opened = queryable({ONE: f"_:x <{EX}p> <{EX}a> .\n_:y <{EX}p> _:x .\n"})
    where = f"GRAPH <{ONE}> {{ ?s ?p ?o }}" if kind.named_graphs else "?s ?p ?o"
    rows = opened.select(f"SELECT ?s ?o WHERE {{ {where} }}")
    subjects = {row[0] for row in rows}
    assert {term.kind for term in subjects if term} == {"blank"}
    assert len(subjects) == 2
    assert {row[1] for row in rows} - subjects == {Term("iri", EX + "a")}


def test_select_without_rows_is_empty(store: Open) -> None:
    assert store({}).select(f"SELECT ?s WHERE {{ ?s <{EX}nothing> ?o }}") == []


def test_a_query_that_is_no_sparql_is_a_store_error(store: Open) -> None:
    opened = store({})
    with pytest.raises(PermanentStoreError) as error:
        opened.select("SELECT WHERE oops")
    assert opened.label in str(error.value)


# -- count and scan --------------------------------------------------------------------------------


def test_count_includes_literals_and_blank_nodes(kind: Kind, store: Open) -> None:
    assert store({ONE: MIXED}).count(kind.source(ONE)) == 15


def test_count_keeps_graphs_apart(kind: Kind, store: Open) -> None:
    if not kind.named_graphs:
        pytest.skip("this kind has no named graphs")
    more = ntriples(edges("x p y"))
    opened = store({ONE: MIXED, TWO: MIXED + more, None: more})
    counts = {ONE: 15, TWO: 16} | ({None: 1} if kind.default_graph else {})
    for graph, count in counts.items():
        assert opened.count(TripleSource(graph)) == count
        assert len(scanned(opened, TripleSource(graph))) == count


def test_an_empty_source_counts_nothing_and_pushes_nothing(kind: Kind, store: Open) -> None:
    opened = store({})
    empty = [kind.source(ONE)] + [TripleSource(None)] * kind.default_graph
    assert [opened.count(source) for source in empty] == [0] * len(empty)
    assert scanned(opened, kind.source(ONE)) == []
    assert scanned(opened, kind.source(ONE), careful=True) == []


@pytest.mark.parametrize("careful", [False, True])
def test_scan_pushes_each_triple_once(kind: Kind, store: Open, careful: bool) -> None:
    rows = scanned(store({ONE: MIXED}), kind.source(ONE), careful=careful)
    a, p, b = (f"<{EX}{name}>" for name in "apb")
    assert kinds_of_terms(rows) == Counter(
        {
            (a, p, b): 1,
            (b, f"<{EX}q>", a): 1,
            (a, p, f"<{EX}Zürich>"): 1,
            (p, p, p): 1,
            (a, f"<{EX}name>", "literal"): 3,
            (a, f"<{EX}age>", "literal"): 3,
            (a, f"<{EX}note>", "literal"): 2,
            ("blank", p, a): 1,
            (a, p, "blank"): 1,
            ("blank", p, "blank"): 1,
        }
    )


def test_a_careful_scan_is_equal_to_a_plain_one(kind: Kind, store: Open) -> None:
    opened = store({ONE: MIXED})
    plain = scanned(opened, kind.source(ONE))
    careful = scanned(opened, kind.source(ONE), careful=True)
    assert kinds_of_terms(plain) == kinds_of_terms(careful)


def test_a_triple_term_is_the_same_in_both_scans(kind: Kind, store: Open) -> None:
    if not kind.triple_terms:
        pytest.skip("this kind of store has no triple terms")
    quoted = f"<<( <{EX}a> <{EX}p> <{EX}b> )>>"
    opened = store({ONE: f"<{EX}a> <{EX}p> {quoted} .\n"})
    row = (f"<{EX}a>", f"<{EX}p>", quoted)
    assert opened.count(kind.source(ONE)) == 1
    assert scanned(opened, kind.source(ONE)) == [row]
    assert scanned(opened, kind.source(ONE), careful=True) == [row]


def test_a_batch_has_the_columns_of_the_port(kind: Kind, store: Open) -> None:
    for careful in (False, True):
        batches: list[TripleBatch] = []
        store({ONE: MIXED}).scan(kind.source(ONE), batches.append, careful=careful)
        assert sum(batch.num_rows for batch in batches) == 15
        for batch in batches:
            assert batch.schema.names == ["s", "p", "o"]
            assert {str(column.dictionary.type) for column in batch.columns} == {"string"}


def test_an_error_of_the_receiver_is_not_swallowed(kind: Kind, store: Open) -> None:
    def refuse(batch: TripleBatch) -> None:
        raise ConfigError("enough")

    with pytest.raises(ConfigError, match="enough"):
        store({ONE: MIXED}).scan(kind.source(ONE), refuse)


# -- writing ---------------------------------------------------------------------------------------


def test_insert_is_idempotent(writable: Open) -> None:
    opened = writable({ONE: ntriples(edges("a p b"))})
    text = "\n".join(line for line in MIXED.splitlines() if "_:" not in line) + "\n"
    for _ in range(2):
        opened.insert(TWO, text)
        assert opened.count(TripleSource(TWO)) == 12
    opened.insert(TWO, ntriples(edges("x p y")))
    assert opened.count(TripleSource(TWO)) == 13
    assert opened.count(TripleSource(ONE)) == 1
    assert opened.graphs() == [ONE, TWO]


def test_what_was_inserted_is_read_back(writable: Open) -> None:
    opened = writable({})
    note = f'<{EX}a> <{EX}note> "line\\n quote\\" back\\\\slash ü"@de .\n'
    opened.insert(ONE, note)
    rows = opened.select(f"SELECT ?o (LANG(?o) AS ?l) WHERE {{ GRAPH <{ONE}> {{ ?s ?p ?o }} }}")
    assert rows == [(Term("literal", 'line\n quote" back\\slash ü'), Term("literal", "de"))]


def test_inserting_nothing_changes_nothing(writable: Open) -> None:
    opened = writable({ONE: MIXED})
    opened.insert(ONE, "")
    assert opened.count(TripleSource(ONE)) == 15


def test_update_changes_the_named_graphs(writable: Open) -> None:
    opened = writable({ONE: ntriples(edges("a p b", "b p c"))})
    opened.update(
        f"DELETE {{ GRAPH <{ONE}> {{ ?s ?p ?o }} }} INSERT {{ GRAPH <{TWO}> {{ ?o ?p ?s }} }} "
        f"WHERE {{ GRAPH <{ONE}> {{ ?s ?p ?o FILTER(?s = <{EX}a>) }} }}"
    )
    assert scanned(opened, TripleSource(ONE)) == [(f"<{EX}b>", f"<{EX}p>", f"<{EX}c>")]
    assert scanned(opened, TripleSource(TWO)) == [(f"<{EX}b>", f"<{EX}p>", f"<{EX}a>")]


@pytest.mark.parametrize(
    "write",
    [
        lambda opened: opened.update("oops"),
        lambda opened: opened.insert(ONE, "oops"),
    ],
    ids=["update", "insert"],
)
def test_a_failed_write_is_a_store_error_and_leaves_the_graph_alone(
    writable: Open, write: Callable[[GraphStore], None]
) -> None:
    opened = writable({ONE: ntriples(edges("x p y"))})
    with pytest.raises(PermanentStoreError) as error:
        write(opened)
    assert opened.label in str(error.value)
    assert opened.count(TripleSource(ONE)) == 1


def test_a_store_that_cannot_be_written_says_so(kind: Kind, fresh: Open) -> None:
    opened = fresh({ONE: MIXED})
    assert opened.capabilities.writable == kind.writable
    if not opened.capabilities.writable:
        with pytest.raises(PermanentStoreError, match=r"to write into|read-only"):
            opened.insert(ONE, MIXED)
        with pytest.raises(PermanentStoreError, match=r"to write into|read-only"):
            opened.update(f"CLEAR GRAPH <{ONE}>")


# -- closing ---------------------------------------------------------------------------------------

READS: dict[str, Callable[[GraphStore, TripleSource], object]] = {
    "graphs": lambda opened, _: opened.graphs(),
    "select": lambda opened, _: opened.select("SELECT ?s WHERE { ?s ?p ?o } LIMIT 1"),
    "count": lambda opened, source: opened.count(source),
    "scan": scanned,
    "careful scan": lambda opened, source: scanned(opened, source, careful=True),
}
OTHER_CALLS: dict[str, Callable[[GraphStore, TripleSource], object]] = {
    "insert": lambda opened, _: opened.insert(ONE, MIXED),
    "update": lambda opened, _: opened.update(f"CLEAR GRAPH <{ONE}>"),
}


def test_closing_twice_is_allowed(fresh: Open) -> None:
    opened = fresh({ONE: MIXED})
    opened.close()
    opened.close()
    assert opened.label


def test_after_close_an_object_the_user_passed_in_stays_open(kind: Kind, fresh: Open) -> None:
    if kind.owned:
        pytest.skip("kgsync opened this store itself")
    opened = fresh({ONE: MIXED})
    before = [read(opened, kind.source(ONE)) for read in READS.values()]
    opened.close()
    assert [read(opened, kind.source(ONE)) for read in READS.values()] == before


def test_after_close_a_store_that_kgsync_opened_refuses_every_call(kind: Kind, fresh: Open) -> None:
    if not kind.owned:
        pytest.skip("an object the user passed in stays open")
    opened = fresh({ONE: MIXED})
    opened.close()
    for call in (*READS.values(), *OTHER_CALLS.values()):
        with pytest.raises(PermanentStoreError, match="has been closed"):
            call(opened, kind.source(ONE))


def test_a_closed_directory_can_be_opened_again(kind: Kind, tmp_path: Path) -> None:
    if not kind.owned:
        pytest.skip("an object the user passed in stays open")
    target = kind.make({ONE: MIXED}, tmp_path)
    for _ in range(2):
        opened = kind.open({}, tmp_path)
        assert opened.count(TripleSource(ONE)) == 15
        opened.close()
    assert Path(target).exists()
