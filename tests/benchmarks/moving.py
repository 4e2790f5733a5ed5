"""`kgsync run` on a live graph that changes ten times a second, on an Oxigraph server and Virtuoso.

Every committed version is compared with a log of the writer: what was there throughout the reading
has to be in it, and nothing that was never there. Once the writer has stopped, the edges have to be
those of the store two polls later.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgsync import KGSync
from kgsync.graph.snapshot import contains
from kgsync.state.committed import CommittedVersion
from tests.benchmarks.soak import _resident
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso

_GRAPH = "http://example.org/live"
_SETTINGS = """\
[source]
store = "{url}"
graphs = "{graph}"
quiet_period = "2s"

[state]
path = "state"
keep = 4

[split]
validation = 0.0
test = 0.001

[model]
dimension = 8

[training]
epochs = 1
batches = 20

[update]
general_epochs = 1
change_epochs = 1
pretraining_epochs = 5

[evaluation]
test_sample = 50
stability_sample = 50

[publish]
metadata = false

[schedule]
every = "{every}"
max_load = {max_load}
"""

Edge = tuple[str, str, str]


@dataclass
class _Change:
    """One edge that came or went, at some moment between two."""

    edge: Edge
    added: bool
    begun: float
    done: float


class _Writer:
    """Adds and deletes edges, and keeps a log."""

    def __init__(self, server: Server, base: list[Edge], rate: float) -> None:
        self._server, self._rate = server, rate
        self._random = random.Random(7)
        self._pool = list(base)
        self._entities = max(int(edge[0][1:]) for edge in base) + 1
        self.log: list[_Change] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due += 1 / self._rate
            added = bool(self._random.getrandbits(1))
            if added:
                names = (self._random.randrange(self._entities + 1000) for _ in range(2))
                head, tail = (f"e{name}" for name in names)
                edge = (head, f"p{self._random.randrange(50)}", tail)
                self._pool.append(edge)
            else:
                edge = self._pool.pop(self._random.randrange(len(self._pool)))
            verb = "INSERT" if added else "DELETE"
            begun = time.time()
            self._server.update(f"{verb} DATA {{ GRAPH <{_GRAPH}> {{ {_line(edge)} }} }}")
            self.log.append(_Change(edge, added, begun, time.time()))


def main() -> None:
    """Run it and print what happened."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.moving")
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=10.0, help="changes a second")
    parser.add_argument("--every", default="15s")
    parser.add_argument("--max-load", type=float, default=0.1)
    parser.add_argument("--servers", nargs="+", default=["oxigraph", "virtuoso"])
    options = parser.parse_args()
    servers: dict[str, Server] = {
        "oxigraph": OxigraphServer(),
        "virtuoso": Virtuoso(None, anonymous_updates=True),
    }
    print(
        f"load {os.getloadavg()[0]:.1f}; {options.edges:,} edges, {options.rate:g} changes a second"
    )
    for name in options.servers:
        if reason := servers[name].missing():
            print(f"{name}: skipped: {reason}.")
            continue
        with servers[name] as server, tempfile.TemporaryDirectory() as folder:
            _Moving(name, server, Path(folder), options).run()


class _Moving:
    def __init__(self, name: str, server: Server, folder: Path, options: Any) -> None:
        self._name, self._server, self._folder, self._options = name, server, folder, options
        chosen = random.Random(1)
        entities = max(10, options.edges // 8)
        base: set[Edge] = set()
        while len(base) < options.edges:
            names = (f"e{chosen.randrange(entities)}" for _ in range(2))
            head, tail = names
            base.add((head, f"p{chosen.randrange(50)}", tail))
        self._base = base
        self._writer = _Writer(server, sorted(base), options.rate)
        self._wrong: list[str] = []
        self._checked: dict[int, float] = {}
        self._lags: list[float] = []
        self._looks: list[float] = []
        self._memory: list[float] = []

    def run(self) -> None:
        self._server.load(_GRAPH, "".join(map(_line, self._base)))
        settings = _SETTINGS.format(
            url=self._server.query_url,
            graph=_GRAPH,
            every=self._options.every,
            max_load=self._options.max_load,
        )
        config = self._folder / "kgsync.toml"
        config.write_text(settings)
        self._sync = KGSync.from_config(config)
        process = self._start(config)
        try:
            self._until(lambda: 1 in self._checked, 600)
            self._writer.start()
            end = time.monotonic() + self._options.minutes * 60
            while time.monotonic() < end:
                self._look(process.pid)
            self._writer.stop()
            runs, apart = self._status()["runs"], max(self._looks) / self._options.max_load
            self._until(lambda: self._status()["runs"] >= runs + 3, 300 + 6 * apart)
            self._report(process)
        finally:
            process.kill()

    def _start(self, config: Path) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            command = [sys.executable, "-m", "kgsync", "run", "-c", str(config)]
            return subprocess.Popen(command, stdout=log, stderr=log)

    def _until(self, holds: Any, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                print((self._folder / "log").read_text()[-3000:])
                raise SystemExit(f"{self._name}: nothing happened for {seconds:.0f} s")
            self._look(None)

    def _look(self, pid: int | None) -> None:
        time.sleep(0.5)
        status = self._status()
        if status.get("store_seconds"):
            self._looks.append(status["store_seconds"])
        if pid is not None:
            self._memory.append(_resident(pid))
        current = self._sync.status()
        if current.version is not None and current.version not in self._checked:
            folder = self._sync.state.current()
            assert folder is not None
            assert current.report is not None
            self._check(CommittedVersion(folder), current.report.seconds["fetch"])

    def _check(self, version: CommittedVersion, fetch_seconds: float) -> None:
        number = version.manifest.version
        start = datetime.fromisoformat(version.manifest.graph_version["name"]).timestamp()
        end = start + fetch_seconds
        self._checked[number] = end
        log = list(self._writer.log)
        events: dict[Edge, list[_Change]] = {}
        for change in log:
            events.setdefault(change.edge, []).append(change)
        touched = list(events)
        found = self._present(version, touched)
        must, may = 0, 0
        for edge, there in zip(touched, found, strict=True):
            surely, perhaps = _presence(edge in self._base, events[edge], start, end)
            must += surely
            may += perhaps
            if (surely and not there) or (there and not perhaps):
                self._wrong.append(f"version {number}: {edge}")
        untouched = len(version.graph.edges) - int(found.sum())
        expected = len(self._base) - sum(edge in self._base for edge in touched)
        if untouched != expected:
            self._wrong.append(f"version {number}: {untouched:,} untouched edges, not {expected:,}")
        now = time.time()
        self._lags.append(now - start)
        print(
            f"{self._name}: version {number}, {len(version.graph.edges):,} edges, read in "
            f"{fetch_seconds:.1f} s by {version.manifest.report['way']}, {len(log):,} changes yet",
            flush=True,
        )

    def _present(self, version: CommittedVersion, edges: list[Edge]) -> Any:
        if not edges:
            return np.zeros(0, bool)
        graph = version.graph
        heads, relations, tails = (
            pa.array(column) for column in zip(*map(_iris, edges), strict=True)
        )
        ids = (
            graph.terms.entities.ids(heads),
            graph.terms.relations.ids(relations),
            graph.terms.entities.ids(tails),
        )
        known = np.logical_and.reduce([column >= 0 for column in ids])
        layout = graph.edges.layout
        limit = 1 << layout.entity_bits
        known &= (ids[0] < limit) & (ids[2] < limit) & (ids[1] < 1 << layout.relation_bits)
        keys = layout.pack(*(np.where(known, column, 0) for column in ids))
        return contains(graph.edges.keys(layout), keys) & known

    def _status(self) -> dict[str, Any]:
        run = self._sync.status().run
        return vars(run) if run is not None else {}

    def _report(self, process: subprocess.Popen[bytes]) -> None:
        status = self._status()
        current = self._sync.status().report
        assert current is not None
        edges = sum(current.triples.values())
        stored = self._server.count(_GRAPH)
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        # The first version has to be trained, and maybe kernels compiled.
        gaps = np.diff(sorted(self._checked.values())[1:])
        look, load = max(self._looks), self._options.max_load
        changes = len(self._writer.log)
        print(f"{self._name}: {changes:,} changes, {len(self._checked)} versions, exit {code}")
        print(f"  wrong: {len(self._wrong)} {self._wrong[:3]}")
        print(
            f"  readings are up to {gaps.max():.0f} s apart; one look takes {look:.1f} s at most,"
        )
        print(f"  which calls for {look / load:.0f} s at max_load = {load:g}")
        print(
            f"  a version was seen {max(self._lags[1:], default=0):.0f} s after its reading began"
        )
        print(f"  edges at the end {edges:,}, in the store {stored:,}")
        memory = self._memory
        thirds = [memory[len(memory) * part // 3] for part in (1, 2)] + memory[-1:]
        print(f"  resident MB: {', '.join(f'{megabytes:.0f}' for megabytes in thirds)}")
        told = {key: status[key] for key in ("runs", "commits", "transient_errors", "put_off")}
        print(f"  status: {json.dumps(told)}")
        if self._wrong or edges != stored or code:
            print((self._folder / "log").read_text()[-3000:])
            sys.exit(1)


def _presence(base: bool, events: list[_Change], start: float, end: float) -> tuple[bool, bool]:
    """Whether an edge was there throughout, and whether at all, between two moments."""
    surely = perhaps = base
    for change in events:
        if change.done < start:
            surely = perhaps = change.added
        elif change.begun <= end:
            perhaps = perhaps or change.added
            surely = False
    return surely, perhaps


def _iris(edge: Edge) -> tuple[str, ...]:
    return tuple(f"http://example.org/{name}" for name in edge)


def _line(edge: Edge) -> str:
    return " ".join(f"<{iri}>" for iri in _iris(edge)) + " .\n"


if __name__ == "__main__":
    main()
