"""A store that was read with difficulty is let go at once: another process may open it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync.graph.port import TripleSource
from kgsync.graph.stores import opened
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Base, fetch

GRAPHS = ("http://example.org/1", "http://example.org/2")


@pytest.fixture
def _no_collector() -> Iterator[None]:
    """Nothing may depend on when the garbage collector happens to run."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
def test_a_store_with_iris_that_break_its_answers_is_closed_after_each_read(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    store = ox.Store(str(path))
    for number, graph in enumerate(GRAPHS):
        # A raw tab in an IRI breaks the quick way to read, the difference as well as the scan.
        lines = [f"<urn:{i}> <urn:p> <urn:{i + number}> .\n" for i in range(50)]
        lines.append(f"<urn:tab\t{number}> <urn:p> <urn:x> .\n")
        text, node = "".join(lines).encode(), ox.NamedNode(graph)
        store.load(text, format=ox.RdfFormat.N_TRIPLES, to_graph=node, lenient=True)
    store.flush()
    del store
    terms, base = TermIndex(), None
    for graph in GRAPHS:
        with opened(path) as reader:
            read = fetch(reader, TripleSource(graph), terms, base)
        assert (len(read.edges), read.skipped.invalid_iris) == (50, 1)
        terms = read.terms
        base = Base(TripleSource(graph), read.edges, read.triples, read.skipped)
        ox.Store(str(path))  # refused while anything holds on to it
