"""Never learn from half a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphReader, TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Base, Fetched, fetch
from tests.graph.comparing import Comparing
from tests.graph.graphs import (
    EX,
    NEW,
    OLD,
    as_edges,
    base_of,
    edges,
    ntriples,
    oxigraph,
    rdflib_dataset,
)
from tests.source.disturbed import (
    Disturb,
    Disturbed,
    drop_one,
    repeat_one,
    repeat_one_for_another,
)

VERSION = edges("a p b", "b p c", "c p d", "d q a")
LITERALS = "".join(f'<{EX}a> <{EX}name> "{number}" .\n' for number in range(3))
STORES: dict[str, Callable[..., object]] = {"oxigraph": oxigraph, "rdflib": rdflib_dataset}


def first_version(reader: GraphReader, graph: str | None = OLD) -> Fetched:
    return fetch(reader, TripleSource(graph), TermIndex(), None)


def base_in(reader: GraphReader) -> tuple[Base, TermIndex]:
    first = first_version(reader)
    return base_of(first, TripleSource(OLD)), first.terms


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    "disturb", [drop_one, repeat_one, repeat_one_for_another], ids=lambda f: f.__name__
)
def test_rows_that_are_not_the_counted_ones_are_refused(store: str, disturb: Disturb) -> None:
    reader = Disturbed(open_store(STORES[store]({OLD: ntriples(VERSION)})), scan=disturb)
    with pytest.raises(TransientStoreError, match=f"<{OLD}>") as error:
        first_version(reader)
    assert reader.label in str(error.value)
    assert "try again" in str(error.value)
    # The careful way was tried before giving up.
    assert reader.scans == [False, False, False, True]


def test_the_message_says_how_many_rows_came() -> None:
    reader = Disturbed(open_store(oxigraph({OLD: ntriples(VERSION) + LITERALS})), scan=drop_one)
    with pytest.raises(TransientStoreError, match=r"sent 6 of 7 triples"):
        first_version(reader)


def test_the_message_names_the_default_graph() -> None:
    reader = Disturbed(open_store(oxigraph({None: ntriples(VERSION)})), scan=drop_one)
    with pytest.raises(TransientStoreError, match="the default graph"):
        first_version(reader, None)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "update",
    [
        f"INSERT DATA {{ GRAPH <{OLD}> {{ <{EX}x> <{EX}p> <{EX}y> }} }}",
        f"DELETE DATA {{ GRAPH <{OLD}> {{ <{EX}a> <{EX}p> <{EX}b> }} }}",
    ],
    ids=["grows", "shrinks"],
)
def test_a_graph_that_moves_while_it_is_read_is_refused(
    store: str, moment: str, update: str
) -> None:
    inner = open_store(STORES[store]({OLD: ntriples(VERSION)}))
    change = partial(inner.update, update)
    early, late = (change, None) if moment == "before" else (None, change)
    reader = Disturbed(inner, before_scan=early, after_scan=late)
    with pytest.raises(TransientStoreError, match=f"<{OLD}>.*changed while it was read"):
        first_version(reader)
    # At rest again it can be read.
    assert len(first_version(inner).edges) in (3, 5)


def test_an_undisturbed_read_takes_one_plain_scan() -> None:
    reader = Disturbed(open_store(oxigraph({OLD: ntriples(VERSION) + LITERALS})))
    found = first_version(reader)
    assert as_edges(found.edges, found.terms) == VERSION
    assert reader.scans == [False]


@pytest.mark.parametrize("disturb", [drop_one, repeat_one], ids=lambda f: f.__name__)
def test_a_difference_that_does_not_add_up_falls_back_to_a_scan(disturb: Disturb) -> None:
    new = VERSION | edges("e p f", "f p g")
    reader = Comparing(oxigraph({OLD: ntriples(VERSION), NEW: ntriples(new)}))
    base, terms = base_in(reader)
    found = fetch(Disturbed(reader, difference=disturb), TripleSource(NEW), terms, base)
    assert found.way == "scan"
    assert "difference could not be used" in found.reason
    assert as_edges(found.edges, found.terms) == new


def test_a_difference_cut_short_on_both_sides_is_not_believed() -> None:
    new = edges("a p b", "b p c", "e p f", "f p g")
    reader = Comparing(oxigraph({OLD: ntriples(VERSION), NEW: ntriples(new)}))
    base, terms = base_in(reader)
    # One added and one deleted row are lost: the sums agree all the same.
    found = fetch(Disturbed(reader, difference=drop_one), TripleSource(NEW), terms, base)
    assert as_edges(found.edges, found.terms) == new


def test_a_difference_that_adds_what_the_snapshot_has_falls_back_to_a_scan() -> None:
    store = oxigraph({OLD: ntriples(VERSION), NEW: ntriples(VERSION | edges("e p f"))})
    reader = Comparing(store)
    base, terms = base_in(reader)
    # As many triples as before, but not the same ones.
    store.update(
        f"DELETE DATA {{ GRAPH <{OLD}> {{ <{EX}a> <{EX}p> <{EX}b> }} }} ;"
        f"INSERT DATA {{ GRAPH <{OLD}> {{ <{EX}x> <{EX}p> <{EX}y> }} }}"
    )
    found = fetch(reader, TripleSource(NEW), terms, base)
    assert found.way == "scan"
    assert "has changed since it was read" in found.reason
    assert as_edges(found.edges, found.terms) == VERSION | edges("e p f")
