"""The whole history of nomisma out of a Virtuoso that limits answers to 10,000 rows."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

from kgsync import Endpoint, KGSync, Settings
from kgsync.config import EvaluationSettings, SourceSettings, TrainingSettings, UpdateSettings
from kgsync.snapshots.changes import ChangeFiles
from kgsync.snapshots.version import BuiltVersion
from kgsync.state.report import StepReport
from tests.benchmarks.table import aligned, machine
from tests.servers.virtuoso import Virtuoso

_GRAPHS = "http://example.org/nomisma/{version}"
_DATA = Path(os.environ.get("KGSYNC_TEST_DATA", "../shared/data")) / "nomisma"


def main() -> None:
    """Load every version, sync them all, and compare with what was loaded."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.nomisma")
    parser.add_argument("--versions", type=int, default=43, help="how many, from the first")
    parser.add_argument("--epochs", type=int, default=10, help="of training and of every update")
    options = parser.parse_args()
    print(machine(("kgsync", "pyarrow", "sparqlwrapper")))
    with tempfile.TemporaryDirectory() as state, Virtuoso(anonymous_updates=True) as server:
        edges = _load(server, options.versions)
        settings = Settings(
            source=SourceSettings(graphs=_GRAPHS, quiet_period="1s"),
            training=TrainingSettings(epochs=options.epochs),
            update=UpdateSettings(change_epochs=1, general_epochs=options.epochs - 1),
            evaluation=EvaluationSettings(validation_sample=100, test_sample=100),
        )
        endpoint = Endpoint(server.query_url, update_url=server.query_url)
        sync = KGSync(endpoint, state=state, settings=replace(settings))
        started = time.perf_counter()
        reports = sync.catch_up(allow_large_removal=True)
        seconds = time.perf_counter() - started
    _show(reports, edges)
    print(f"\n{len(reports)} versions in {seconds:.0f} s")
    found = [sum(report.triples.values()) for report in reports if report.triples]
    if found != edges:
        sys.exit(f"edges loaded {edges}, edges found {found}")


def _load(server: Virtuoso, count: int) -> list[int]:
    """Fill the server; returns how many edges every version has."""
    edges = []
    for version in islice(ChangeFiles.find(_DATA).versions(), count):
        # Its edges: Virtuoso's loader refuses the statements with IRIs that are not valid.
        for piece in BuiltVersion.ntriples(version):
            server.load(_GRAPHS.format(version=f"{int(version.name):02}"), piece)
        edges.append(len(version.edges))
    print(f"loaded {len(edges)} versions, {edges[0]:,} to {edges[-1]:,} edges\n", flush=True)
    return edges


def _show(reports: list[StepReport], edges: list[int]) -> None:
    rows = [["version", "edges", "added", "deleted", "fetch s", "step s"]]
    for report, loaded in zip(reports, edges, strict=False):
        change = report.change
        counts = (sum(change.added_triples), sum(change.deleted_triples)) if change else (0, 0)
        total = sum(report.seconds.values())
        times = [f"{report.seconds['fetch']:.1f}", f"{total:.1f}"]
        rows.append([str(report.version), f"{loaded:,}", *(f"{n:,}" for n in counts), *times])
    print(aligned(rows))


if __name__ == "__main__":
    main()
