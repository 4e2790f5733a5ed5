"""One row a kind of store: how to make one that holds given graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox
from rdflib import Graph

from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import DifferenceReader, GraphReader, GraphStore, TripleBatch, TripleSource
from kgsync.graph.stores import StoreTarget, open_store
from tests.graph.graphs import EX, Graphs, edges, ntriples, oxigraph, rdflib_dataset, rows_of
from tests.servers.server import Server

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
    writable: bool = True
    sparql: bool = True
    """Whether queries and scopes see the triples."""
    default_graph: bool = True
    """Whether the default graph holds triples of its own, and none of the named graphs."""
    blank_graphs: bool = True
    """Whether an update can name a graph by a blank node."""
    no_difference: str | None = None
    """The scope whose difference the store cannot compute, though it can run it."""
    server: str | None = None
    """The fixture of the one server that holds the graphs of one test after those of another."""

    def served(self, server: Server) -> Kind:
        """The kind, with its graphs on this server."""

        def make(graphs: Graphs, folder: Path) -> Endpoint:
            server.clear()
            for name, text in graphs.items():
                if name is not None:
                    server.load(name, text)
                elif self.default_graph:
                    load_default(server, text)
            return endpoint_of(server)

        return replace(self, make=make)

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


def _file(graphs: Graphs, folder: Path) -> Path:
    path = folder / "graphs.nq"
    if graphs or not path.exists():
        quads = oxigraph(graphs).dump(format=ox.RdfFormat.N_QUADS)
        path.write_bytes(quads or b"")
    return path


def _graph(graphs: Graphs, folder: Path) -> Graph:
    return Graph().parse(data="".join(graphs.values()), format="nt")


def _unserved(graphs: Graphs, folder: Path) -> StoreTarget:
    raise AssertionError("this kind needs its server")


def load_default(server: Server, text: str) -> None:
    """Put triples into the default graph of a server that has one of its own."""
    headers = {"Content-Type": "application/n-triples"}
    server.request("POST", f"{server.graph_store_url}?default", text.encode(), headers)


def endpoint_of(server: Server, **options: Any) -> Endpoint:
    """A server's address, with the right to write."""
    if server.credentials is not None:
        user, password = server.credentials
        options = {"auth": "digest", "user": user, "password": password, **options}
    return Endpoint(**{"url": server.query_url, "update_url": server.update_url, **options})


KINDS = {
    "path": Kind(_directory, owned=True, triple_terms=True),
    "path of files": Kind(_file, owned=True, triple_terms=True, writable=False, sparql=False),
    "pyoxigraph.Store": Kind(lambda graphs, _: oxigraph(graphs), triple_terms=True),
    "rdflib.Dataset": Kind(lambda graphs, _: rdflib_dataset(graphs)),
    "rdflib.Graph": Kind(_graph, named_graphs=False, writable=False),
    "http": Kind(_unserved, triple_terms=True, server="oxigraph_server"),
    # Its default graph is the union of all graphs, with some of its own that are never empty; it
    # is of RDF 1.0, without triple terms; it refuses blank nodes as names of graphs; OFFSET without
    # LIMIT on both sides of MINUS gives it an error of its own (SR350).
    "http, Virtuoso": Kind(
        _unserved,
        default_graph=False,
        blank_graphs=False,
        no_difference="offset",
        server="virtuoso",
    ),
}
"""By the keys of `kgsync.graph.stores.ADAPTERS`, and what kind of server it is."""
SAME = {"https": "http"}
"""Keys that differ in nothing this suite sees."""


def difference(
    reader: GraphReader, source: TripleSource, base: TripleSource
) -> list[tuple[str, str, str]]:
    """Every row a difference pushes, as N-Triples text."""
    batches: list[TripleBatch] = []
    cast("DifferenceReader", reader).scan_difference(source, base, batches.append)
    return rows_of(batches)
