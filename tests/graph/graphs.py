"""Small graphs as plain Python sets of IRIs, and the real stores and snapshots made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from rdflib import Dataset, URIRef

from kgsync.graph.port import GraphReader, TripleBatch, TripleSource
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Base, Fetched

Edge: TypeAlias = tuple[str, str, str]
Graphs: TypeAlias = Mapping[str | None, str] | Mapping[str, str] | Mapping[None, str]
"""N-Triples by named graph; None is the default graph."""

EX = "http://example.org/"
OLD, NEW = EX + "kg/1", EX + "kg/2"

_ENTITIES = [EX + name for name in ("a", "b", "c", "d", "e", "Zürich", "p", "日本", "😀", "a#x")]
_RELATIONS = [EX + name for name in ("p", "q", "größe", "a")]

edge_sets: st.SearchStrategy[frozenset[Edge]] = st.frozensets(
    st.tuples(st.sampled_from(_ENTITIES), st.sampled_from(_RELATIONS), st.sampled_from(_ENTITIES)),
    max_size=25,
)
"""Edges over few terms, so that two sets overlap; some IRIs are both entity and relation."""


def examples(count: int) -> settings:
    """So many examples, however slow the machine is just now."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def edges(*texts: str) -> frozenset[Edge]:
    """`"a p b"` is the edge of the three example IRIs."""
    triples = (tuple(EX + name for name in text.split()) for text in texts)
    return frozenset((s, p, o) for s, p, o in triples)


def ntriples(triples: Iterable[Edge]) -> str:
    """The edges as N-Triples."""
    return "".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in sorted(triples))


def oxigraph(graphs: Graphs, path: Path | str | None = None, *, lenient: bool = False) -> ox.Store:
    """An Oxigraph store in memory or on disk."""
    store = ox.Store() if path is None else ox.Store(str(path))
    for name, text in graphs.items():
        to_graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
        store.load(text.encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=to_graph, lenient=lenient)
    return store


def rdflib_dataset(graphs: Graphs, *, default_union: bool = False) -> Dataset:
    """An rdflib dataset in memory."""
    dataset = Dataset(default_union=default_union)
    for name, text in graphs.items():
        graph = dataset.default_graph if name is None else dataset.graph(URIRef(name))
        graph.parse(data=text, format="nt")
    return dataset


def index(*versions: Iterable[Edge], key: bytes = b"") -> TermIndex:
    """A term index that has met these versions one after the other."""
    terms = TermIndex(key)
    for version in versions:
        triples = list(version)
        entities = [iri for s, _, o in triples for iri in (s, o)]
        relations = [p for _, p, _ in triples]
        terms = terms.extended(pa.array(entities, pa.string()), pa.array(relations, pa.string()))
    return terms


def snapshot(triples: Iterable[Edge], terms: TermIndex) -> Snapshot:
    """The edges under the ids of an index that knows their terms."""
    columns = list(zip(*triples, strict=True)) or [(), (), ()]
    tables = (terms.entities, terms.relations, terms.entities)
    ids = [
        table.ids(pa.array(column, pa.string()))
        for table, column in zip(tables, columns, strict=True)
    ]
    assert all((column >= 0).all() for column in ids)
    return Snapshot.of(*ids)


def as_edges(triples: Snapshot, terms: TermIndex) -> frozenset[Edge]:
    """The IRIs of a snapshot, which must be sorted and free of doubles."""
    found = list(edge_list(triples, terms))
    assert len(set(found)) == len(found)
    rows = list(zip(*(column.tolist() for column in triples.columns), strict=True))
    assert rows == sorted(rows)
    return frozenset(found)


def edge_list(triples: Snapshot, terms: TermIndex) -> Iterator[Edge]:
    """The IRIs of a snapshot, row by row."""
    heads, relations, tails = triples.columns
    yield from zip(
        terms.entities.names(heads).to_pylist(),
        terms.relations.names(relations).to_pylist(),
        terms.entities.names(tails).to_pylist(),
        strict=True,
    )


def base_of(fetched: Fetched, source: TripleSource) -> Base:
    """What a later fetch starts from."""
    return Base(source, fetched.edges, fetched.triples, fetched.skipped)


def scanned(
    reader: GraphReader, source: TripleSource, *, careful: bool = False
) -> list[tuple[str, str, str]]:
    """Every row a scan pushes, as N-Triples text."""
    batches: list[TripleBatch] = []
    reader.scan(source, batches.append, careful=careful)
    return rows_of(batches)


def rows_of(batches: Iterable[TripleBatch]) -> list[tuple[str, str, str]]:
    """The rows of batches, decoded."""
    rows: list[tuple[str, str, str]] = []
    for batch in batches:
        columns: list[list[Any]] = [column.to_pylist() for column in batch.columns]
        rows += zip(*columns, strict=True)
    return rows


def ids(*numbers: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """An id column."""
    return np.array(numbers, np.int32)
