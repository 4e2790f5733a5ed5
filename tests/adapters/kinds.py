"""One row a kind of store: how to make one that holds given graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rdflib import Graph

from kgsync.graph.port import GraphReader, GraphStore, TripleBatch, TripleSource
from kgsync.graph.stores import StoreTarget, open_store
from tests.graph.graphs import EX, Graphs, edges, ntriples, oxigraph, rdflib_dataset, rows_of

ONE, TWO = EX + "graph/1", EX + "graph/2"

Open = Callable[[Graphs], GraphStore]
"""Opens a store of some kind that holds the graphs."""

XSD = "http://www.w3.org/2001/XMLSchema#"
MIXED = (
    ntriples(edges("a p b", "b q a", "a p Zürich", "p p p"))
    + f'<{EX}a> <{EX}name> "A" .\n'
    + f'<{EX}a> <{EX}name> "A"@en .\n'
    + f'<{EX}a> <{EX}name> "A"@de-CH .\n'
    + f'<{EX}a> <{EX}age> "7"^^<{XSD}integer> .\n'
    + f'<{EX}a> <{EX}age> "7.5"^^<{XSD}decimal> .\n'
    + f'<{EX}a> <{EX}age> "true"^^<{XSD}boolean> .\n'
    + f'<{EX}a> <{EX}note> "tab\\t line\\n return\\r quote\\" back\\\\slash \\u2028 <x>" .\n'
    + f'<{EX}a> <{EX}note> "" .\n'
    + f"_:x <{EX}p> <{EX}a> .\n"
    + f"<{EX}a> <{EX}p> _:x .\n"
    + f"_:x <{EX}p> _:y .\n"
)
"""15 triples: 4 edges, 8 with a literal, 3 with a blank node."""


@dataclass(frozen=True)
class Kind:
    """How the contract suite makes and addresses a store of one kind."""

    make: Callable[[Graphs, Path], StoreTarget]
    named_graphs: bool = True
    owned: bool = False
    """Whether `close` releases it, because kgsync opened it."""
    triple_terms: bool = False
    """Whether the store can hold triples as terms."""

    def open(self, graphs: Graphs, folder: Path) -> GraphStore:
        """An open store with these graphs; a kind without named graphs holds their union."""
        return open_store(self.make(graphs, folder))

    def source(self, graph: str | None, scope: str | None = None) -> TripleSource:
        """Where a graph is found in this kind of store."""
        return TripleSource(graph if self.named_graphs else None, scope)

    def where(self, pattern: str) -> str:
        """A pattern over the source, as a scope writes it."""
        return f"GRAPH $graph {{ {pattern} }}" if self.named_graphs else pattern


def _directory(graphs: Graphs, folder: Path) -> Path:
    oxigraph(graphs, folder).flush()
    return folder


def _graph(graphs: Graphs, folder: Path) -> Graph:
    return Graph().parse(data="".join(graphs.values()), format="nt")


KINDS = {
    "path": Kind(_directory, owned=True, triple_terms=True),
    "pyoxigraph.Store": Kind(lambda graphs, _: oxigraph(graphs), triple_terms=True),
    "rdflib.Dataset": Kind(lambda graphs, _: rdflib_dataset(graphs)),
    "rdflib.Graph": Kind(_graph, named_graphs=False),
}
"""By the keys of `kgsync.graph.stores.ADAPTERS`."""


def difference(
    reader: GraphReader, source: TripleSource, base: TripleSource
) -> list[tuple[str, str, str]]:
    """Every row a difference pushes, as N-Triples text."""
    batches: list[TripleBatch] = []
    reader.scan_difference(source, base, batches.append)
    return rows_of(batches)
