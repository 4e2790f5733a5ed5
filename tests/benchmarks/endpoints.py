"""Reading whole graphs out of real servers, beside the fastest raw download of the same data."""

from __future__ import annotations

import argparse
import os
import random
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from importlib import import_module

from kgsync.common.memory import forget_peak, peak_mb, resident_mb
from tests.benchmarks.table import aligned, machine
from tests.benchmarks.training.child import Numbers, alone, typical
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso

GRAPH, NEXT = "http://example.org/kg/1", "http://example.org/kg/2"
_MEDIA_TYPE = "application/n-triples"


def graph(edges: int, seed: int) -> Iterator[str]:
    """A graph with some large and many small predicates, and a few letters beyond ASCII."""
    draw = random.Random(seed)
    entities, seen = edges // 7, set[tuple[int, int, int]]()
    while len(seen) < edges:
        edge = (
            int(entities * draw.random() ** 2),
            int(40 * draw.random() ** 3),
            draw.randrange(entities),
        )
        if edge not in seen:
            seen.add(edge)
            head, relation, tail = edge
            yield f"<{_name(head)}> <http://example.org/p{relation}> <{_name(tail)}> .\n"


def _name(entity: int) -> str:
    return f"http://example.org/resource/{'Entität' if entity % 50 == 0 else 'Entity'}_{entity}"


def download(url: str, graph: str, threads: int) -> Numbers:
    """The bytes of a graph, thrown away: graph store GET."""
    query = urllib.parse.urlencode({"graph": graph})
    request = urllib.request.Request(f"{url}?{query}", headers={"Accept": _MEDIA_TYPE})
    started, size = time.perf_counter(), 0
    with urllib.request.urlopen(request, timeout=600) as answer:
        while piece := answer.read(1 << 16):
            size += len(piece)
    return {"seconds": time.perf_counter() - started, "bytes": size}


def fetch(url: str, graph: str, threads: int) -> Numbers:
    """A graph as kgsync has it after reading it: complete, checked, in numbers."""
    from kgsync.graph.port import TripleSource
    from kgsync.graph.stores import open_store
    from kgsync.graph.terms import TermIndex
    from kgsync.source import fetch

    store = open_store(url)
    before = resident_mb()
    forget_peak()
    started = time.perf_counter()
    found = fetch.fetch(store, TripleSource(graph), TermIndex(), None)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "edges": len(found.edges), "grown": peak_mb() - before}


def poll(url: str, graphs: str, state: str, threads: int) -> Numbers:
    """A step that finds nothing new, after a first one that trained next to nothing."""
    from kgsync import KGSync, Settings
    from kgsync.config import EvaluationSettings, SourceSettings, TrainingSettings

    settings = Settings(
        source=SourceSettings(quiet_period="0s"),
        training=TrainingSettings(epochs=0),
        evaluation=EvaluationSettings(validation_sample=10, test_sample=10),
    )
    sync = KGSync(url, graphs, state=state, settings=settings)
    sync.step()
    started = time.perf_counter()
    report = sync.step()
    assert not report.changed
    return {"seconds": time.perf_counter() - started}


def _extraction(server: Server, raw: Server, edges: int, repeat: int) -> list[list[str]]:
    """One row a way; the raw download is from a server without a limit on rows."""
    plain = [alone(download, url=raw.graph_store_url, graph=GRAPH) for _ in range(repeat)]
    ours = [alone(fetch, url=server.query_url, graph=GRAPH) for _ in range(repeat)]
    base = typical([run for run in plain if run], "seconds")
    found = typical([run for run in ours if run], "seconds")
    assert found["edges"] == edges, found
    name = type(server).__name__
    seconds = found["seconds"]
    return [
        [f"{name}, raw", f"{base['seconds']:.2f}", f"{edges / base['seconds']:,.0f}", "", ""],
        [
            f"{name}, kgsync",
            f"{seconds:.2f}",
            f"{edges / seconds:,.0f}",
            f"{seconds / base['seconds']:.2f}",
            f"{found['grown']:,.0f}",
        ],
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.endpoints")
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument("--polled", type=int, default=1_000_000, help="edges of the polled graph")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(machine(("kgsync", "pyarrow", "sparqlwrapper")))
    text = "".join(graph(options.edges, 1))
    rows = [["", "seconds", "triples/s", "÷ raw", "MB grown"]]
    with OxigraphServer() as server:
        server.load(GRAPH, text)
        rows += _extraction(server, server, options.edges, options.repeat)
    if not Virtuoso.missing():
        rows += _from_virtuoso(text, options.edges, options.repeat)
    print(f"{options.edges:,} edges; Virtuoso limits answers to 10,000 rows, but not the raw one\n")
    print(aligned(rows), "\n", flush=True)
    _polls(options.polled)
    print(f"load average at the end: {os.getloadavg()[0]:.2f}")


def _from_virtuoso(text: str, edges: int, repeat: int) -> list[list[str]]:
    with Virtuoso(anonymous_updates=True) as capped, Virtuoso(None, anonymous_updates=True) as raw:
        for one in (capped, raw):
            one.load(GRAPH, text)
        return _extraction(capped, raw, edges, repeat)


def _polls(edges: int) -> None:
    import tempfile

    text = "".join(graph(edges, 2))
    rows = [["poll of an unchanged graph", "seconds"]]
    with tempfile.TemporaryDirectory() as folder, OxigraphServer() as server:
        server.load(GRAPH, text)
        for name, graphs in (("versions", "http://example.org/kg/{version}"), ("live", GRAPH)):
            state = f"{folder}/{name}"
            run = alone(poll, url=server.query_url, graphs=graphs, state=state)
            rows.append([f"Oxigraph, {name}", f"{run['seconds']:.3f}" if run else "failed"])
    print(f"{edges:,} edges\n")
    print(aligned(rows), "\n")


if __name__ == "__main__":
    # The tasks run in processes of their own, which find them by the name of their module.
    import_module("tests.benchmarks.endpoints").main()
