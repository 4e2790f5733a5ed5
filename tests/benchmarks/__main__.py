"""Compare kgsync with plain loops over the same graph; see `--help`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.data import Data
from tests.benchmarks.measure import Measurement, build_data, measure, typical
from tests.benchmarks.reading import CASES, KGSYNC, PLAIN, RDFLIB, Prepare
from tests.benchmarks.table import machine, table


def main() -> None:
    """Measure every case and print one table each."""
    options = _options()
    print(f"Two versions of {options.edges:,} edges. {machine()}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        data = Data(options.work or Path(temporary), options.edges)
        build_data(data)
        measured: dict[Prepare, Measurement] = {}
        for name, case in CASES.items():
            contestants = {k: v for k, v in case.contestants.items() if k not in options.skip}
            # Round after round, so that other load on the machine meets all of them alike.
            rounds: dict[str, list[Measurement]] = {k: [] for k in contestants}
            for number in range(options.repeat):
                for contestant, prepare in contestants.items():
                    if prepare not in measured and (number == 0 or contestant != RDFLIB):
                        rounds[contestant].append(measure(data, name, contestant))
            measured |= {contestants[k]: typical(runs) for k, runs in rounds.items() if runs}
            results = {k: measured[prepare] for k, prepare in contestants.items()}
            _check(case.title, results, data)
            print(table(case.title, results), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Time and memory of reading a graph, each contestant in a fresh process.",
    )
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep the graph here for reuse")
    parser.add_argument("--edges", type=int, default=1_000_000, help="edges of each version")
    parser.add_argument(
        "--repeat",
        type=int,
        default=3,
        help="runs, of which the median is shown; rdflib, which loads for minutes, runs once",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        choices=(KGSYNC, PLAIN, RDFLIB),
        help="leave a contestant out",
    )
    return parser.parse_args()


def _check(title: str, results: dict[str, Measurement], data: Data) -> None:
    """All must have found the same, or the comparison is worth nothing."""
    made = {"edges": data.edges, "added": data.changed, "deleted": data.changed}
    for contestant, run in results.items():
        found = {name: run.numbers[name] for name in made if name in run.numbers}
        if not found.items() <= made.items():
            sys.exit(f"{title}: {contestant} found {found} in a graph of {made}")


if __name__ == "__main__":
    main()
