"""Vectors as literals: how fast they are written and read, and neighbours found among them.

`python -m tests.benchmarks.literals`
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from kgsync import KGSync, open_store
from kgsync.config import (
    EvaluationSettings,
    ModelSettings,
    PublishSettings,
    Settings,
    SplitSettings,
    TrainingSettings,
)
from kgsync.graph.port import GraphStore
from kgsync.publish.literals.content import KINDS, Content
from kgsync.publish.literals.datatypes import DATATYPES, decode, encode
from kgsync.publish.literals.graph import LiteralGraph
from tests.adapters.kinds import endpoint_of
from tests.benchmarks.table import aligned, machine
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso

_GRAPH, _BARE = "urn:bench:vectors", "urn:bench:bare"
_AT_A_TIME = 1000
"""Literals in one update of the bare loop."""


def invented(rows: int, dimension: int) -> Content:
    """Random vectors."""
    random = np.random.default_rng(0)
    sizes = {"entity": rows, "relation": 10}
    return Content(
        {k: pa.array([f"http://example.org/{k}/{i}" for i in range(n)]) for k, n in sizes.items()},
        {k: random.standard_normal((n, dimension), np.float32) for k, n in sizes.items()},
    )


def bare_loop(store: GraphStore, content: Content) -> None:
    """What anyone would write: text is joined, and sent a thousand triples at a time."""
    for kind, property_ in KINDS.items():
        names = content.iris[kind].to_pylist()
        texts = encode(content.tables[kind], "list").to_pylist()
        lines = [
            f'<{name}> <{property_}> "{text}"^^<{DATATYPES["list"].iri}> .'
            for name, text in zip(names, texts, strict=True)
        ]
        for start in range(0, len(lines), _AT_A_TIME):
            some = "\n".join(lines[start : start + _AT_A_TIME])
            store.update(f"INSERT DATA {{ GRAPH <{_BARE}> {{ {some} }} }}")


def publish(store: GraphStore, content: Content) -> None:
    """kgsync's way: the graph is claimed, written, counted, and a sample read back."""
    graph = LiteralGraph(_GRAPH, "bench", "list")
    graph.claim(store)
    graph.write(store, content, content.changes_from(None, 0.0), (0, {}), lambda *_: None)
    problem = graph.problem(store, content)
    assert problem is None, problem


def read_back(store: GraphStore, content: Content) -> bool:
    """Whether every literal is there, bit by bit."""
    query = f"SELECT ?s ?v {{ GRAPH <{_GRAPH}> {{ ?s <{KINDS['entity']}> ?v }} }}"
    found = {a.value: b.value for a, b in store.select(query) if a and b}
    names = content.iris["entity"].to_pylist()
    return len(found) == len(names) and all(
        decode(found[name], DATATYPES["list"].iri).tobytes() == row.tobytes()
        for name, row in zip(names, content.tables["entity"], strict=True)
    )


def writing(content: Content, folder: Path) -> str:
    """One row a store: the bare loop beside kgsync, each in a store of its own."""
    rows = [["", "bare loop, rows/s", "kgsync, rows/s", "kgsync ÷ bare", "read back"]]
    kinds: dict[str, Callable[[str], Server | Path]] = {
        "Oxigraph server, in memory": lambda _: OxigraphServer(),
        "Oxigraph server, on disk": lambda name: OxigraphServer(folder / f"server {name}"),
        "embedded Oxigraph, on disk": lambda name: folder / f"embedded {name}",
        "Virtuoso": lambda _: Virtuoso(),
    }
    for name, make in kinds.items():
        if name == "Virtuoso" and Virtuoso.missing():
            continue
        speeds, same = [], False
        for way in (bare_loop, publish):
            with _opened(make(way.__name__)) as store:
                start = time.perf_counter()
                way(store, content)
                speeds.append(len(content) / (time.perf_counter() - start))
                # A Virtuoso with the limits of a public endpoint does not send so many rows.
                same = way is publish and name != "Virtuoso" and read_back(store, content)
        cells = [f"{speed:,.0f}" for speed in speeds]
        found = "a sample" if name == "Virtuoso" else "bit-equal" if same else "DIFFERENT"
        rows.append([name, *cells, f"{speeds[1] / speeds[0]:.2f}", found])
    width = content.tables["entity"].shape[1]
    return f"### {len(content):,} literals of {width} numbers\n\n{aligned(rows)}\n"


@contextmanager
def _opened(where: Server | Path) -> Iterator[GraphStore]:
    if isinstance(where, Path):
        yield open_store(str(where), create=True)
        return
    with where as server:
        yield open_store(endpoint_of(server))


def searching(rows: int, dimension: int, folder: Path) -> str:
    """The ten nearest neighbours of one entity, in every way there is."""
    sync = _synced(rows, dimension, folder)
    target = "http://example.org/e7"
    table = [["", "s"]]

    def timed(name: str, way: Callable[[], object]) -> None:
        way()  # loads, compiles or decodes what is kept
        start = time.perf_counter()
        way()
        table.append([name, f"{time.perf_counter() - start:.4f}"])

    timed("SPARQL over literals", lambda: sync.query("nearest_neighbors", iri=target))
    timed("SPARQL, by IRI", lambda: sync.query("nearest_neighbors_sidecar", iri=target))
    timed("sync.neighbors, one", lambda: sync.neighbors(target))
    many = [f"http://example.org/e{i}" for i in range(1000)]
    timed("sync.neighbors, 1,000 at once", lambda: sync.neighbors(many))
    timed("exported index (usearch)", _index(sync, folder, target))
    title = f"### Ten nearest of {rows:,} entities, dimension {dimension}, second call"
    return f"{title}\n\n{aligned(table)}\n"


def _synced(rows: int, dimension: int, folder: Path) -> KGSync:
    """A sync with literals over a large ring."""
    store, graph = ox.Store(), ox.NamedNode("http://example.org/kg/1")
    nodes = [ox.NamedNode(f"http://example.org/e{i}") for i in range(rows)]
    near = ox.NamedNode("http://example.org/near")
    store.bulk_extend(
        ox.Quad(node, near, nodes[(i + step) % rows], graph)
        for i, node in enumerate(nodes)
        for step in (1, 2, 5)
    )
    settings = Settings(
        split=SplitSettings(0, 0),
        model=ModelSettings(dimension=dimension),
        training=TrainingSettings(epochs=2),
        evaluation=EvaluationSettings(test_sample=1),
        publish=PublishSettings(literals="versions"),
    )
    graphs = "http://example.org/kg/{version}"
    source = replace(settings.source, quiet_period="0s")
    settings = replace(settings, source=source)
    sync = KGSync(store, graphs, state=folder / "state", settings=settings)
    sync.step()
    return sync


def _index(sync: KGSync, folder: Path, iri: str) -> Callable[[], object]:
    from usearch.index import Index

    import kgsync

    embeddings = kgsync.load(sync.state.path)
    embeddings.export(folder / "vectors.usearch")
    index = Index.restore(str(folder / "vectors.usearch"))
    assert index is not None
    vector = sync.embedding(iri)
    return lambda: index.search(vector, 10)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.literals")
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--dimension", type=int, default=100)
    options = parser.parse_args()
    print(machine(("kgsync", "pyoxigraph", "oxigraph", "usearch")), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(writing(invented(options.rows, options.dimension), folder), flush=True)
        print(searching(options.rows, options.dimension, folder), flush=True)


if __name__ == "__main__":
    main()
