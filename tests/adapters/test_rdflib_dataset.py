"""What only rdflib objects do."""

from __future__ import annotations

import pytest
from rdflib import Dataset, Graph, URIRef

from kgsync.errors import PermanentStoreError
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import fetch
from tests.graph.graphs import (
    EX,
    NEW,
    OLD,
    as_edges,
    edges,
    ntriples,
    rdflib_dataset,
    scanned,
)


def test_reading_leaves_the_users_dataset_as_it_was() -> None:
    dataset = rdflib_dataset({OLD: ntriples(edges("a p b"))})
    before = {graph.identifier for graph in dataset.graphs()}
    store = open_store(dataset)
    store.count(TripleSource(NEW))
    scanned(store, TripleSource(NEW))
    assert {graph.identifier for graph in dataset.graphs()} == before


def test_closing_leaves_the_users_dataset_open() -> None:
    dataset = rdflib_dataset({OLD: ntriples(edges("a p b"))})
    store = open_store(dataset)
    store.close()
    assert len(dataset.graph(URIRef(OLD))) == 1
    assert store.count(TripleSource(OLD)) == 1


def test_what_the_user_adds_later_is_seen() -> None:
    dataset = Dataset()
    store = open_store(dataset)
    dataset.graph(URIRef(OLD)).parse(data=ntriples(edges("a p b")), format="nt")
    assert store.graphs() == [OLD]


def test_a_plain_graph_is_the_default_graph() -> None:
    graph = Graph(identifier=OLD).parse(data=ntriples(edges("a p b")), format="nt")
    store = open_store(graph)
    assert store.graphs() == []
    found = fetch(store, TripleSource(None), TermIndex(), None)
    assert as_edges(found.edges, found.terms) == edges("a p b")


@pytest.mark.parametrize("careful", [False, True])
def test_a_union_default_graph_is_fetched_as_a_set(careful: bool) -> None:
    graphs = {OLD: ntriples(edges("a p b", "b p c")), NEW: ntriples(edges("a p b", "c p d"))}
    store = open_store(rdflib_dataset(graphs, default_union=True))
    assert store.capabilities.union_default_graph
    assert store.count(TripleSource(None)) == 3
    assert len(scanned(store, TripleSource(None), careful=careful)) == 3
    assert store.count(TripleSource(OLD)) == 2


def test_what_goes_wrong_inside_rdflib_is_a_store_error() -> None:
    class Unreachable(Graph):
        def __len__(self) -> int:
            raise ConnectionResetError("the line is down")

    store = open_store(Unreachable())
    with pytest.raises(PermanentStoreError, match="the rdflib Unreachable: the line is down") as e:
        store.count(TripleSource(None))
    assert isinstance(e.value.__cause__, ConnectionResetError)


def test_the_label_names_the_users_own_class() -> None:
    class Museum(Dataset):
        pass

    assert open_store(Museum()).label == "the rdflib Museum"
    assert f"{EX}" not in open_store(Museum()).label
