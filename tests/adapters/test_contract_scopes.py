"""The contract of scopes and differences: one text means one thing, for every adapter."""

from __future__ import annotations

from collections import Counter

import pytest

from kgsync.errors import ConfigError, PermanentStoreError
from kgsync.graph.port import TripleSource
from tests.adapters.kinds import MIXED, ONE, TWO, Kind, Open, difference
from tests.graph.graphs import EX, edges, ntriples, scanned

CHAIN = edges("a p b", "b p c", "c p d", "d p a", "a q c", "b q d")
SCOPES = {
    "plain": ("SELECT ?s ?p ?o WHERE { {all} }", CHAIN),
    "lower case": ("select distinct ?s ?p ?o where { {all} }", CHAIN),
    "without WHERE": ("SELECT ?s ?p ?o { {all} }", CHAIN),
    "prologue": (
        f"PREFIX ex: <{EX}>\nPREFIX : <{EX}>\nSELECT ?s ?p ?o WHERE {{ {{all}} FILTER(?p = :q) }}",
        edges("a q c", "b q d"),
    ),
    "base": (
        f"BASE <{EX}>\nSELECT ?s ?p ?o WHERE {{ {{all}} FILTER(?p = <q>) }}",
        edges("a q c", "b q d"),
    ),
    "comments": (
        "# Ours.\n# $graph: iri\n  # more\nSELECT ?s ?p ?o WHERE { # here\n{all}\n# no }\n} # end",
        CHAIN,
    ),
    "comment after a prefix": (
        f"PREFIX ex: <{EX}> # ours\nSELECT ?s ?p ?o WHERE {{ {{all}} FILTER(?p = ex:q) }}",
        edges("a q c", "b q d"),
    ),
    "order and limit": (
        "SELECT ?s ?p ?o WHERE { {all} } ORDER BY ?p ?s LIMIT 2",
        edges("a p b", "b p c"),
    ),
    "offset": (
        "SELECT ?s ?p ?o WHERE { {all} } ORDER BY ?p ?s OFFSET 4",
        edges("a q c", "b q d"),
    ),
    "duplicates": ("SELECT ?s ?p ?o WHERE { { {all} } UNION { {all} } }", CHAIN),
    "more columns": ("SELECT ?s ?p ?o ?x WHERE { {all} VALUES ?x { 1 2 } }", CHAIN),
    "computed": (
        f"SELECT ?s (<{EX}made> AS ?p) ?o WHERE {{ {{q}} }}",
        edges("a made c", "b made d"),
    ),
    "nothing": ("SELECT ?s ?p ?o WHERE { {all} FILTER(?s = ?p) }", frozenset()),
}


def scope_text(kind: Kind, name: str) -> str:
    text = SCOPES[name][0]
    text = text.replace("{all}", kind.where("?s ?p ?o"))
    return text.replace("{q}", kind.where(f"?s <{EX}q> ?o"))


@pytest.mark.parametrize("name", SCOPES)
def test_a_scope_means_the_same_for_count_and_both_scans(
    kind: Kind, queryable: Open, name: str
) -> None:
    opened = queryable({ONE: ntriples(CHAIN)})
    source = kind.source(ONE, scope_text(kind, name))
    expected = Counter((f"<{s}>", f"<{p}>", f"<{o}>") for s, p, o in SCOPES[name][1])
    assert opened.count(source) == expected.total()
    assert Counter(scanned(opened, source)) == expected
    assert Counter(scanned(opened, source, careful=True)) == expected


@pytest.mark.parametrize("name", [None, *SCOPES])
def test_a_difference_is_what_the_base_lacks(kind: Kind, store: Open, name: str | None) -> None:
    graphs = {ONE: ntriples(CHAIN), TWO: ntriples(edges("a p b", "a q c", "x p y", "x q y"))}
    opened = store(graphs)
    scope = None if name is None else scope_text(kind, name)
    one, two = (kind.source(graph, scope) for graph in (ONE, TWO))
    if not opened.capabilities.difference:
        pytest.skip("this kind of store cannot compute a difference")
    if name is not None and name == kind.no_difference:
        with pytest.raises(PermanentStoreError):
            difference(opened, one, two)
        return
    forth, back = (
        difference(opened, one, two),
        difference(opened, two, one),
    )
    in_one, in_two = set(scanned(opened, one)), set(scanned(opened, two))
    assert Counter(forth) == Counter(in_one - in_two)
    assert Counter(back) == Counter(in_two - in_one)


def test_a_difference_includes_literals_and_blank_nodes(kind: Kind, store: Open) -> None:
    opened = store({ONE: MIXED, TWO: ntriples(edges("a p b"))})
    if not opened.capabilities.difference:
        pytest.skip("this kind of store cannot compute a difference")
    assert len(difference(opened, TripleSource(ONE), TripleSource(TWO))) == 14
    assert difference(opened, TripleSource(TWO), TripleSource(ONE)) == []
    assert difference(opened, TripleSource(ONE), TripleSource(ONE)) == []


def test_a_scope_that_the_store_cannot_run_is_a_store_error(kind: Kind, queryable: Open) -> None:
    opened = queryable({ONE: MIXED})
    scope = f"SELECT ?s ?p ?o WHERE {{ {kind.where('?s ?p ?o')} FILTER( }}"
    for read in (opened.count, lambda source: scanned(opened, source)):
        with pytest.raises(PermanentStoreError):
            read(kind.source(ONE, scope))


@pytest.mark.parametrize("scope", ["ASK { ?s ?p ?o }", "SELECT ?o ?p ?s WHERE { ?s ?p ?o }"])
def test_a_scope_that_selects_no_triples_is_a_config_error(
    kind: Kind, queryable: Open, scope: str
) -> None:
    opened = queryable({ONE: MIXED})
    for read in (opened.count, lambda source: scanned(opened, source)):
        with pytest.raises(ConfigError, match=r"must be a SELECT of \?s \?p \?o"):
            read(kind.source(ONE, scope))


def test_a_scope_where_there_is_no_sparql_is_a_config_error(kind: Kind, store: Open) -> None:
    if kind.sparql:
        pytest.skip("this kind of store runs scopes")
    opened = store({ONE: MIXED})
    for read in (opened.count, lambda source: scanned(opened, source)):
        with pytest.raises(ConfigError, match="remove the scope"):
            read(kind.source(ONE, scope_text(kind, "plain")))
