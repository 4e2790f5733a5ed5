"""One look at a live graph on an Oxigraph server: by buckets, whole, and what kgsync chooses.

The costs are known from one look in each way, as they are after the first polls of a sync.
"""

from __future__ import annotations

import argparse
import os
import random
import time

from kgsync.adapters.sparql.store import SparqlStore
from kgsync.graph.port import TripleSource
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import Base, Fetched, fetch
from kgsync.source.reading_costs import ReadingCosts
from tests.benchmarks.table import aligned
from tests.servers.oxigraph_server import OxigraphServer

_SOURCE = TripleSource("http://example.org/live")
_HEAD = "edges", "added", "by buckets s", "whole s", "chosen s", "which", "÷ better"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.live_reading")
    parser.add_argument("--sizes", type=int, nargs="+", default=[11_000, 200_000, 1_000_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[0, 100, 500])
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}\n")
    rows: list[tuple[str, ...]] = [_HEAD]
    for size in options.sizes:
        with OxigraphServer() as server:
            rows += _measured(server, size, options.changes)
    print(aligned(rows))


def _measured(server: OxigraphServer, size: int, changes: list[int]) -> list[tuple[str, ...]]:
    chosen = random.Random(0)
    server.load(str(_SOURCE.graph), "".join(_edge(chosen, size) for _ in range(size)))
    store = SparqlStore.open(server.query_url)
    costs = ReadingCosts()
    known = fetch(store, _SOURCE, TermIndex(b"k"), None, live=True, costs=costs)
    rows = []
    for count in changes:
        if count:
            text = "".join(_edge(chosen, size) for _ in range(count))
            server.update(f"INSERT DATA {{ GRAPH <{_SOURCE.graph}> {{ {text} }} }}")
        by_buckets, seconds = _look(store, known, _only("buckets"))
        whole, whole_seconds = _look(store, known, _only("scan"))
        if (by_buckets.way, whole.way) != ("buckets", "scan") or by_buckets.edges != whole.edges:
            raise SystemExit("both ways have to be taken, and to find the same edges")
        found, chosen_seconds = _look(store, known, costs)
        times = seconds, whole_seconds, chosen_seconds
        ratio = chosen_seconds / min(times[:2])
        told = (f"{count:,}", *(f"{time_:.2f}" for time_ in times), found.way, f"{ratio:.2f}")
        rows.append((f"{size:,}", *told))
        known = found
    return rows


def _look(store: SparqlStore, known: Fetched, costs: ReadingCosts) -> tuple[Fetched, float]:
    base = Base(_SOURCE, known.edges, known.triples, known.skipped)
    start = time.perf_counter()
    found = fetch(store, _SOURCE, known.terms, base, costs=costs)
    return found, time.perf_counter() - start


def _only(way: str) -> ReadingCosts:
    """Costs under which one way is taken."""
    costs = ReadingCosts()
    for name in ("scan", "buckets", "bucket scan"):
        costs.note(name, 1, 1.0 if (name == "scan") == (way == "scan") else 100.0)
    return costs


def _edge(chosen: random.Random, size: int) -> str:
    names = (
        f"resource/Entity_{chosen.randrange(size // 8)}",
        f"ontology/property{chosen.randrange(50)}",
        f"resource/Entity_{chosen.randrange(size // 8)}",
    )
    return " ".join(f"<http://example.org/{name}>" for name in names) + " .\n"


if __name__ == "__main__":
    main()
